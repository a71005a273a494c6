"""Conditional requests (RFC 9110, section 13.1.2)."""


def matches(if_none_match: str, etag: str) -> bool:
    """Return whether an `If-None-Match` header names `etag`, or is `*`. `W/` is ignored (weak comparison)."""
    tags = [tag.strip() for tag in if_none_match.split(",")]
    return "*" in tags or etag in [tag.removeprefix("W/") for tag in tags]

"""Content negotiation with visitors: which of them get a page, and which the bytes or JSON (decisions 22, 49)."""

from functools import lru_cache

from waypost.clicks.classify import classifier

_BROWSERS = ("Mozilla/", "Opera/")
_MAX_ACCEPT = 1024  # characters; longer values are cut before they are cached


def prefers_json(accept: str) -> bool:
    """Return whether `Accept` names JSON and not HTML: then a public page is sent as JSON."""
    named = _named_types(accept[:_MAX_ACCEPT])
    return "application/json" in named and "text/html" not in named


def is_browser(accept: str, user_agent: str, fetch_mode: str) -> bool:
    """Return whether a program shows its response to a person as a page.

    Programs such as wget2 and Java name HTML too, so `Accept` alone does not prove it. `fetch_mode`: Sec-Fetch-Mode.
    """
    if "text/html" not in _named_types(accept[:_MAX_ACCEPT]):
        return False
    return user_agent.startswith(_BROWSERS) or fetch_mode.strip().lower() == "navigate"


def wants_page(accept: str, user_agent: str, fetch_mode: str) -> bool:
    """Return whether a client gets the page of a file or the form for a password: browsers, previews and crawlers."""
    return is_browser(accept, user_agent, fetch_mode) or classifier.agent(user_agent).kind in ("preview", "bot")


@lru_cache(maxsize=1024)
def _named_types(accept: str) -> frozenset[str]:
    """Return the media types that `Accept` names with a quality above 0, in lower case (RFC 9110, 12.5.1)."""
    named = set()
    for media_range in accept.lower().split(","):
        media_type, *parameters = media_range.split(";")
        if not any(map(_is_not_acceptable, parameters)):
            named.add(media_type.strip())
    return frozenset(named)


def _is_not_acceptable(parameter: str) -> bool:
    """Return whether a parameter is `q=0`, in any form."""
    name, _, value = parameter.partition("=")
    return name.strip() == "q" and not value.strip(" \t0.")

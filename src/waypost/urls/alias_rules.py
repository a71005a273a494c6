"""Rules for aliases: validation, reserved words, random generation."""

import re
import secrets

from waypost.errors import invalid

RESERVED = frozenset(
    """
    about abuse account accounts admin api app apple-app-site-association assets assetlinks auth avatar billing bio
    bios campaign campaigns channel channels contact dashboard docs domain domains download downloads error faq
    favicon file files forgot health healthz help home humans images index legal link links login logout manifest me
    metrics new oauth oidc openapi overlay overlays p page pages password ping pixel pixels plan plans preview pricing
    privacy public qr qrs r ready readyz register report robots root s saml search security service-worker sessions
    settings setup signin signout signup sitemap splash sso static stats status support system tag tags team teams
    terms tls u upload uploads url urls user users verify waypost webhook webhooks welcome well-known www
    """.split()
)
"""First path segments that the service uses or may use in the future (decision 19)."""

MAX_LENGTH = 50
_ALIAS = re.compile(r"[A-Za-z0-9_-]{3,50}\Z")
# No vowels, so that no words appear; no characters that look alike. 49^6 is 14 billion aliases.
_LETTERS = "BCDFGHJKLMNPQRSTVWXYZbcdfghjkmnpqrstvwxyz23456789"


def check(alias: str, *, field: str) -> str:
    """Return the alias if it is valid. Raises INVALID on `field` (decision 19)."""
    if not _ALIAS.match(alias):
        raise invalid(field, f"{field} must be 3 to 50 characters from A-Z, a-z, 0-9, _ and -.")
    if alias.lower() in RESERVED:
        raise invalid(field, f"{field} is reserved by this service. Choose another one.")
    return alias


def is_valid(alias: str) -> bool:
    """Return whether the alias has a valid format."""
    return _ALIAS.match(alias) is not None


def generate(length: int = 6) -> str:
    """Return a random valid alias."""
    while True:
        alias = "".join(secrets.choice(_LETTERS) for _ in range(length))
        if alias.lower() not in RESERVED:  # short ones can be
            return alias

"""What an alias may be: pure rules, no database."""

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
"""First path segments that the service answers itself, now or in its own future (decision 19)."""

MAX_LENGTH = 50
_FORM = re.compile(r"[A-Za-z0-9_-]{3,50}\Z")
# Neither vowels nor look-alikes: nothing rude, nothing misread from paper. 49^6 is 14 thousand million names.
_LETTERS = "BCDFGHJKLMNPQRSTVWXYZbcdfghjkmnpqrstvwxyz23456789"


def check(alias: str, *, field: str) -> str:
    """The alias if it may be one. Raises INVALID on `field` (decision 19)."""
    if not _FORM.match(alias):
        raise invalid(field, f"{field} must be 3 to 50 characters from A-Z, a-z, 0-9, _ and -.")
    if alias.lower() in RESERVED:
        raise invalid(field, f"{field} is a word this service uses itself. Please choose another one.")
    return alias


def can_be(alias: str) -> bool:
    """Whether anything can have this alias."""
    return _FORM.match(alias) is not None


def generate(length: int = 6) -> str:
    """A random alias that passes `check`."""
    while True:
        drawn = "".join(secrets.choice(_LETTERS) for _ in range(length))
        if drawn.lower() not in RESERVED:  # which three letters can be
            return drawn

"""Signed tokens: password reset links, flash messages, download cookies and form tokens.

Each token is bound to a purpose, and optionally to an expiry and to a value that the token does not contain.
CSRF tokens are in `http/csrf.py`.
"""

import base64
import hmac
import json
from collections.abc import Callable, Sequence
from json.encoder import encode_basestring_ascii

from sqlalchemy import Connection, select

from waypost.core import clock
from waypost.db.schema import installation

_SIGNATURE_BYTES = 24
_encoded: Callable[[str], str] = encode_basestring_ascii  # lists of texts as `json.dumps` does, in a third of the time
_SECRET = select(installation.c.value).where(installation.c.name == "secret")


class Signer:
    """Signs and verifies with HMAC-SHA256. Each purpose has its own key."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._keys: dict[str, bytes] = {}

    def sign(self, purpose: str, *values: str, life: int | None = None, bound: str = "") -> str:
        """Return a token that contains the values in readable form.

        It is valid for `life` seconds (None: forever), and only for the same value of `bound`.
        """
        expires = None if life is None else clock.now() + life
        content = ", ".join(("null" if expires is None else str(expires), *map(_encoded, values)))
        payload = base64.urlsafe_b64encode(f"[{content}]".encode()).decode().rstrip("=")
        return f"{payload}.{self._signature(purpose, payload, bound)}"

    def unsign(self, purpose: str, token: str, *, bound: str = "") -> Sequence[str] | None:
        """Return the values of a token; None if its signature is wrong or it has expired."""
        payload, _, signature = token.partition(".")
        if not hmac.compare_digest(self._signature(purpose, payload, bound).encode(), signature.encode()):
            return None
        expires, values = _decode(payload)
        return values if expires is None or expires > clock.now() else None

    def digest(self, purpose: str, *values: str) -> bytes:
        """Return the HMAC of the values, 32 bytes."""
        return hmac.digest(self.derive_key(purpose), f"[{', '.join(map(_encoded, values))}]".encode(), "sha256")

    def derive_key(self, purpose: str) -> bytes:
        """Return the key of a purpose, 32 bytes."""
        key = self._keys.get(purpose)
        if key is None:
            key = self._keys[purpose] = hmac.digest(self._secret, purpose.encode(), "sha256")
        return key

    def _signature(self, purpose: str, payload: str, bound: str) -> str:
        # A payload never contains a period, so this concatenation is unambiguous.
        digest = hmac.digest(self.derive_key(purpose), f"{payload}.{bound}".encode(), "sha256")
        return base64.urlsafe_b64encode(digest[:_SIGNATURE_BYTES]).decode()


def installation_secret(tx: Connection) -> bytes:
    """Return the random secret of this installation, from which all signing keys are derived."""
    return bytes(tx.execute(_SECRET).scalar_one())


def installation_signer(tx: Connection) -> Signer:
    """Return the signer of this installation."""
    return Signer(installation_secret(tx))


def read_unverified(token: str) -> Sequence[str]:
    """Return the values of a token without verifying it; none if it is malformed.

    For tokens whose `bound` value has to be looked up by one of their values.
    """
    return _decode(token.partition(".")[0])[1]


def _decode(payload: str) -> tuple[int | None, Sequence[str]]:
    """Return the expiry and the values of a payload; an expiry in the past if it is malformed."""
    try:
        decoded = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except (ValueError, RecursionError):
        return 0, ()
    match decoded:
        case [int() | None as expires, *values] if all(isinstance(value, str) for value in values):
            return expires, values
    return 0, ()

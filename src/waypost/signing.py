"""What we hand to browsers and letters, and know again: signed by this installation, each for one purpose and time."""

import base64
import hashlib
import hmac
import json
import secrets
from collections.abc import Sequence

from sqlalchemy import Connection, select

from waypost import clock
from waypost.db.schema import installation

_TOKEN_BYTES = 24


class Signer:
    """Makes and checks them."""

    def __init__(self, secret: bytes) -> None:
        self._key = hashlib.sha256(b"dashboard:" + secret).digest()

    def csrf_token(self, cookie: str) -> str:
        """What every form carries: it belongs to the cookie of the browser that was shown the form.

        It looks different each time, so that the length of a compressed page tells nothing of it (BREACH).
        """
        mask = secrets.token_bytes(_TOKEN_BYTES)
        return base64.urlsafe_b64encode(mask + _mixed(mask, self._form(cookie))).decode()

    def verify_csrf_token(self, cookie: str, token: str) -> bool:
        """Whether a form was shown to the browser that sends it."""
        try:
            told = base64.urlsafe_b64decode(token.encode())
        except ValueError:
            return False
        mask, mixed = told[:_TOKEN_BYTES], told[_TOKEN_BYTES:]
        return len(mixed) == _TOKEN_BYTES and hmac.compare_digest(_mixed(mask, mixed), self._form(cookie))

    def _form(self, cookie: str) -> bytes:
        return base64.urlsafe_b64decode(self._sign("form", cookie.encode()))

    def sign(self, purpose: str, *values: str, life: int, bound: str = "") -> str:
        """The values, readable by their bearer, good for `life` seconds and only as long as `bound` stays the same."""
        packed = base64.urlsafe_b64encode(json.dumps([clock.now() + life, *values]).encode()).decode().rstrip("=")
        return f"{packed}.{self._sign(purpose, packed.encode(), bound)}"

    def unsign(self, purpose: str, sealed: str, *, bound: str = "") -> Sequence[str] | None:
        """The values, if we sealed them for this purpose and their time is not over."""
        packed, _, signature = sealed.partition(".")
        if not hmac.compare_digest(self._sign(purpose, packed.encode(), bound).encode(), signature.encode()):
            return None
        until, *values = read(sealed)
        return values if int(until) > clock.now() else None

    def _sign(self, purpose: str, words: bytes, bound: str = "") -> str:
        head = f"{purpose}\t{len(words)}\t".encode()
        return base64.urlsafe_b64encode(hmac.digest(self._key, head + words + bound.encode(), "sha256")[:24]).decode()


def _mixed(mask: bytes, value: bytes) -> bytes:
    return bytes(one ^ other for one, other in zip(mask, value, strict=True))


def of(tx: Connection) -> Signer:
    """The seals of this installation."""
    return Signer(bytes(tx.execute(select(installation.c.value).where(installation.c.name == "secret")).scalar_one()))


def read(sealed: str) -> Sequence[str]:
    """What stands in a seal, believed or not: its end, and the values. ["0"] where nothing can be read."""
    packed = sealed.partition(".")[0]
    try:
        told = json.loads(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)))
    except ValueError:
        return ["0"]
    return [str(one) for one in told] if isinstance(told, list) and told else ["0"]

"""CSRF tokens: every form of the dashboard contains one, bound to the browser's session cookie."""

import base64
import hmac
import secrets

from waypost.db.signing import Signer

FIELD = "token"
"""The field of a form that contains the token."""
_TOKEN_BYTES = 24
_PURPOSE = "CSRF token"


def csrf_token(signer: Signer, cookie: str) -> str:
    """Return a token for a form that is shown to the browser with this cookie.

    It is masked with random bytes, so that the size of a compressed page reveals nothing about it (BREACH).
    """
    mask = secrets.token_bytes(_TOKEN_BYTES)
    return base64.urlsafe_b64encode(mask + _xor(mask, _unmasked(signer, cookie))).decode()


def verify_csrf_token(signer: Signer, cookie: str, token: str) -> bool:
    """Return whether the token was issued to the browser with this cookie."""
    try:
        decoded = base64.urlsafe_b64decode(token.encode())
    except ValueError:
        return False
    mask, masked = decoded[:_TOKEN_BYTES], decoded[_TOKEN_BYTES:]
    return len(masked) == _TOKEN_BYTES and hmac.compare_digest(_xor(mask, masked), _unmasked(signer, cookie))


def _unmasked(signer: Signer, cookie: str) -> bytes:
    return signer.digest(_PURPOSE, cookie)[:_TOKEN_BYTES]


def _xor(mask: bytes, value: bytes) -> bytes:
    return bytes(left ^ right for left, right in zip(mask, value, strict=True))

"""Secrets and signatures of Standard Webhooks 1.0 (https://www.standardwebhooks.com)."""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Iterable, Mapping

_PREFIX = "whsec_"
_SECRET_BYTES = 32
_ID_BYTES = 16


def new_secret() -> str:
    """Return a new secret in the form that receivers expect."""
    return _PREFIX + base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()


def new_id() -> str:
    """Return the id of a new message, which receivers use to recognize a repeated one."""
    return f"msg_{secrets.token_hex(_ID_BYTES)}"


def headers(uid: str, second: int, body: bytes, valid_secrets: Iterable[str]) -> Mapping[str, str]:
    """Return the headers of a request, with one signature for each secret."""
    signed = b".".join((uid.encode(), str(second).encode(), body))
    return {
        "webhook-id": uid,
        "webhook-timestamp": str(second),
        "webhook-signature": " ".join(f"v1,{_sign(secret, signed)}" for secret in valid_secrets),
    }


def _sign(secret: str, signed: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(_PREFIX))
    return base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()

"""Secrets and signatures of Standard Webhooks 1.0 (https://www.standardwebhooks.com)."""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Iterable, Mapping
from typing import Literal

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

Kind = Literal["hmac", "ed25519"]
"""Of the signatures of an endpoint: with a secret that the receiver has too, or with a key pair."""
_PREFIX, _PRIVATE, _PUBLIC = "whsec_", "whsk_", "whpk_"
_SECRET_BYTES = 32
_ID_BYTES = 16


def new_secret() -> str:
    """Return a new secret in the form that receivers expect."""
    return _PREFIX + _base64(secrets.token_bytes(_SECRET_BYTES))


def new_pair() -> tuple[str, str]:
    """Return a new private key of ed25519, which only this service has, and its public key for receivers."""
    key = Ed25519PrivateKey.generate()
    return _PRIVATE + _base64(key.private_bytes_raw()), _PUBLIC + _base64(key.public_key().public_bytes_raw())


def new_id() -> str:
    """Return the id of a new message, which receivers use to recognize a repeated one."""
    return f"msg_{secrets.token_hex(_ID_BYTES)}"


def headers(uid: str, second: int, body: bytes, valid_secrets: Iterable[str]) -> Mapping[str, str]:
    """Return the headers of a request, with one signature for each secret or private key."""
    signed = b".".join((uid.encode(), str(second).encode(), body))
    return {
        "webhook-id": uid,
        "webhook-timestamp": str(second),
        "webhook-signature": " ".join(_sign(secret, signed) for secret in valid_secrets),
    }


def _sign(secret: str, signed: bytes) -> str:
    """Return a signature with its version."""
    if secret.startswith(_PRIVATE):
        private = Ed25519PrivateKey.from_private_bytes(base64.b64decode(secret.removeprefix(_PRIVATE)))
        return f"v1a,{_base64(private.sign(signed))}"
    key = base64.b64decode(secret.removeprefix(_PREFIX))
    return f"v1,{_base64(hmac.digest(key, signed, hashlib.sha256))}"


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()

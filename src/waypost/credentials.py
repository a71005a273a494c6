"""Passwords and API keys: how they are made, and the only forms in which they are stored."""

import hashlib
import secrets
import threading

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

KEY_PREFIX = "wp_"
HINT_LENGTH = 8

# OWASP's smaller size: 19 MiB and about 20 ms each, so that a crowd of guesses costs time, not memory.
_hasher = PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1)
_at_once = threading.BoundedSemaphore(4)


def hash_password(password: str) -> str:
    """Argon2id of a password. Slow on purpose: never call it while holding a transaction."""
    with _at_once:
        return _hasher.hash(password)


def password_matches(hashed: str, password: str) -> bool:
    """Whether `hashed` was made from `password`. Slow on purpose."""
    with _at_once:
        try:
            return _hasher.verify(hashed, password)
        except (VerificationError, InvalidHashError):
            return False


def new_password() -> str:
    """A password to hand out once: 20 characters, 119 bits."""
    return secrets.token_urlsafe(15)


def new_key() -> str:
    """An API key: a prefix that secret scanners can know, and 192 random bits (decision 7)."""
    return KEY_PREFIX + secrets.token_urlsafe(24)


def new_token() -> str:
    """What a browser carries to be known again: 192 random bits."""
    return secrets.token_urlsafe(24)


def digest(key: str) -> bytes:
    """SHA-256 of a key, all that is stored of it. A fast hash is enough for 192 random bits."""
    return hashlib.sha256(key.encode()).digest()

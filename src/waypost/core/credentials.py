"""Create, hash and verify passwords, API keys and session tokens. Only their hashes are stored."""

import hashlib
import secrets
import threading
import unicodedata

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

KEY_PREFIX = "wp_"
HINT_LENGTH = 8

# The smaller parameters of OWASP, 19 MiB and about 20 ms: many parallel attempts must not exhaust the memory.
_hasher = PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1)
_semaphore = threading.BoundedSemaphore(4)


def hash_password(password: str) -> str:
    """Return the Argon2id hash of a password in NFC. Slow on purpose: never call it in a transaction."""
    with _semaphore:
        return _hasher.hash(unicodedata.normalize("NFC", password))


def password_matches(hashed: str, password: str) -> bool:
    """Return whether `hashed` is the hash of `password` in any Unicode form (decision 72). Slow on purpose.

    Hashes made before that rule are those of the form that was typed.
    """
    forms = (unicodedata.normalize("NFC", password), password, unicodedata.normalize("NFD", password))
    with _semaphore:
        return any(_is_hash_of(hashed, form) for form in dict.fromkeys(forms))


def _is_hash_of(hashed: str, password: str) -> bool:
    try:
        return _hasher.verify(hashed, password)
    except (VerificationError, InvalidHashError):
        return False


def new_password() -> str:
    """Return a random password: 20 characters, 120 bits."""
    return secrets.token_urlsafe(15)


def new_key() -> str:
    """Return a new API key: a prefix that secret scanners recognize, and 192 random bits (decision 7)."""
    return KEY_PREFIX + secrets.token_urlsafe(24)


def new_token() -> str:
    """Return a new session token: 192 random bits."""
    return secrets.token_urlsafe(24)


def digest(key: str) -> bytes:
    """Return the SHA-256 of a key. A fast hash is enough for 192 random bits."""
    return hashlib.sha256(key.encode()).digest()

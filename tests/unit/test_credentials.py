"""Password hashing, in a process of its own: the test process uses cheaper parameters."""

import subprocess
import sys

_SCRIPT = """
from waypost.core import credentials
hashed = credentials.hash_password("a password")
print(hashed, credentials.password_matches(hashed, "a password"), credentials.password_matches(hashed, "a passwort"))
"""


def test_password_hash_has_parameters_of_owasp() -> None:
    parameters = subprocess.run(
        [sys.executable, "-c", _SCRIPT], check=True, capture_output=True, text=True
    ).stdout.split()
    assert parameters[0].startswith("$argon2id$v=19$m=19456,t=2,p=1$")
    assert parameters[1:] == ["True", "False"]

"""What a password costs who guesses it, in a process as it serves: the tests' own has it cheaper."""

import subprocess
import sys

_SHOW = """
from waypost import credentials
hashed = credentials.hash_password("a password")
print(hashed, credentials.password_matches(hashed, "a password"), credentials.password_matches(hashed, "a passwort"))
"""


def test_a_password_is_hashed_at_the_price_that_owasp_asks_for() -> None:
    shown = subprocess.run([sys.executable, "-c", _SHOW], check=True, capture_output=True, text=True).stdout.split()
    assert shown[0].startswith("$argon2id$v=19$m=19456,t=2,p=1$")
    assert shown[1:] == ["True", "False"]

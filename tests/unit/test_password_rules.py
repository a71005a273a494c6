"""Passwords that are easy to guess, and passwords that only look like it."""

import pytest

from waypost.core.errors import Problem
from waypost.items.accounts.password_rules import checked_password

NAMES = ("ana", "juniper@example.com")


@pytest.mark.parametrize(
    "password",
    [
        "12345678",
        "PASSWORD",
        "Password123!",
        "p@ssw0rd",
        "letmein2026",
        "qwertzuiop",
        "aaaaaaaa",
        "abcdefgh",
        "motdepasse",
        "passwordpassword",
    ],
)
def test_common_password_is_refused(password: str) -> None:
    with pytest.raises(Problem, match="new is easy to guess") as refused:
        checked_password(password, NAMES, field="new")
    assert refused.value.field == "new"


@pytest.mark.parametrize("password", [" " * 8, "\u200b" * 8])
def test_password_without_visible_characters_is_refused(password: str) -> None:
    with pytest.raises(Problem, match="easy to guess"):
        checked_password(password, NAMES)


@pytest.mark.parametrize(
    "password", ["ana12345", "ana-1234567", "ana-ana-ana", "Juniper#4821x", "xx JUNIPER@example.com"]
)
def test_password_with_a_name_of_the_account_is_refused(password: str) -> None:
    with pytest.raises(Problem, match="must not contain the username or e-mail address"):
        checked_password(password, NAMES)


@pytest.mark.parametrize(
    "password",
    [
        "banana split 42",
        "correct horse battery",
        "vXk29-qLm3_pZ",
        "ünï 🦊 words",
        "correct juniper horse battery",
        "x" * 128,
        "1!|4@({[<69$5+70%2bdefhjkmnpqruvwy" * 3,
        "a password",
        "ana likes 42",
    ],
)
def test_other_password_is_accepted_as_it_was_typed(password: str) -> None:
    assert checked_password(password, NAMES) == password
    assert checked_password(password, ("", "")) == password

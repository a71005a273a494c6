"""Passwords that are easy to guess, and passwords that only look like it."""

import re

import pytest

from waypost.core.errors import Problem
from waypost.items.accounts.password_rules import checked_password

NAMES = ("ana", "juniper.berry84@mail.acme-tools.example")


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
    ("password", "part"),
    [
        ("ana12345", "ana"),
        ("ana-1234567", "ana"),
        ("ana-ana-ana", "ana"),
        ("Juniper#4821x", "juniper"),
        ("correct juniper horse battery", "juniper"),
        ("xx JUNIPER.Berry84@mail.acme-tools.example", "juniper.berry84@mail.acme-tools.example"),
        ("our BERRY grows 1984", "berry"),
        ("I love Acme since 1999", "acme"),
        ("the-tools-of-tomorrow", "tools"),
    ],
)
def test_password_with_a_name_of_the_account_is_refused(password: str, part: str) -> None:
    message = f'must not contain "{re.escape(part)}", which is part of the username or e-mail address'
    with pytest.raises(Problem, match=message):
        checked_password(password, NAMES)


@pytest.mark.parametrize(
    "password",
    [
        "banana split 42",
        "correct horse battery",
        "vXk29-qLm3_pZ",
        "ünï 🦊 words",
        "correct example horse battery",
        "x" * 128,
        "1!|4@({[<69$5+70%2bdefhjkmnpqruvwy" * 3,
        "a password",
        "ana likes 42",
    ],
)
def test_other_password_is_accepted_as_it_was_typed(password: str) -> None:
    assert checked_password(password, NAMES) == password
    assert checked_password(password, ("", "")) == password


def test_address_without_a_public_domain_has_a_name_too() -> None:
    with pytest.raises(Problem, match='"localhost"'):
        checked_password("my localhost 4821", ("owner", "owner@localhost"))

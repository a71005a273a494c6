# Written by `make docs`. Do not edit: change the code and run it again.
"""Optional fields of requests: account."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    pass


class AccountChange(TypedDict, total=False):
    """The login of the account. One field is required."""

    email: str
    """New e-mail address. If the service can send e-mail, it is used once it is confirmed."""
    password: str
    """New password, of 8 to 128 characters, not easy to guess. It ends all sessions of the dashboard."""

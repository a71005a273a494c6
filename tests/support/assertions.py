"""Assertions about error responses (decision 2)."""

from typing import Any


def refused(response: Any, status: int, field: str | None = None) -> str:
    """The message of a failure that must have this status and blame this field."""
    body = response.json()
    assert (response.status_code, body["error"], body.get("field")) == (status, 1, field), body
    assert body["message"]
    return str(body["message"])

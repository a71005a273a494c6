"""Assertions about error responses (decision 2)."""

from typing import Any


def refused(response: Any, status: int, field: str | None = None) -> str:
    """Assert the status and field of an error response; return its message."""
    body = response.json()
    assert (response.status_code, body["error"], body.get("field")) == (status, 1, field), body
    assert body["message"]
    return str(body["message"])

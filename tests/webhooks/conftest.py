"""Fixtures for tests of webhooks below HTTP."""

from tests.support.webhooks import hooks, receiver, settings

__all__ = ("hooks", "receiver", "settings")

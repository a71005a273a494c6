"""A service with the MCP server, and agents of both accounts."""

import pytest

from tests.conftest import Person
from tests.support.mcp_agent import Agent, agent_of
from waypost.core.settings import Settings


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """The settings, with the MCP server on."""
    return settings.model_copy(update={"mcp": "on"})


@pytest.fixture
def agent(ana: Person) -> Agent:
    """An agent of ana, with a key that can write."""
    return agent_of(ana)


@pytest.fixture
def reader(ana: Person) -> Agent:
    """An agent of ana, with a read-only key."""
    return agent_of(ana, "read")


@pytest.fixture
def stranger(ben: Person) -> Agent:
    """An agent of ben."""
    return agent_of(ben)

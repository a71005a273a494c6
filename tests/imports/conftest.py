"""A branded domain, and a second installation, to which an account moves."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import BASE, Person
from tests.support.archives import Move
from tests.support.second_service import second_service


@pytest.fixture
def cleo(plain_url: str, tmp_path: Path) -> Iterator[Move]:
    """An empty account on another installation with the same address."""
    with second_service(plain_url, tmp_path / "second", base=BASE, username="ana") as second:
        yield second


@pytest.fixture
def domain(ana: Person) -> None:
    """The links of some services have aliases that only branded domains allow."""
    ana.add("domain", domain="https://links.example.com")

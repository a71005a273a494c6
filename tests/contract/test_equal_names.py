"""Parallel requests with equal names in different forms create one item, on the nodes of both databases."""

import functools
import itertools
import unicodedata
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.contract.service import Service, running
from tests.support.server import at_once

_FORMS = [
    unicodedata.normalize(form, name) for name in ("Köln", "KÖLN", "köln", "kÖLN", "KöLn") for form in ("NFC", "NFD")
]
_REQUESTS = 20


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A running service on each database."""
    with running(request, tmp_path_factory.mktemp("names")) as service:
        yield service


@pytest.mark.parametrize("noun", ["campaign", "channel", "utm"])
def test_parallel_creations_and_renames_of_one_name_succeed_once(noun: str, service: Service) -> None:
    names = list(itertools.islice(itertools.cycle(_FORMS), _REQUESTS))
    create = [functools.partial(service.call, "POST", f"/api/{noun}/add", {"name": name}) for name in names]
    (item,) = _succeeded(at_once(create))
    service.call("PUT", f"/api/{noun}/{item}/update", {"name": "Aachen"})
    items = [service.call("POST", f"/api/{noun}/add", {"name": f"{n}"}).json()["id"] for n in range(_REQUESTS)]
    rename = [
        functools.partial(service.call, "PUT", f"/api/{noun}/{item}/update", {"name": name})
        for item, name in zip(items, names, strict=True)
    ]
    _succeeded(at_once(rename))


def _succeeded(responses: list[Any]) -> list[int]:
    """Return the ids of successful responses, after asserting that all but one are refused for the name."""
    created = [response.json().get("id") for response in responses if response.is_success]
    answers = Counter((response.status_code, response.json().get("field")) for response in responses)
    assert (len(created), answers[400, "name"]) == (1, len(responses) - 1), answers
    return created

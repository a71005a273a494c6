"""Endpoints declare how they are handled: nothing follows from the names of their paths and parameters."""

import inspect
import re
from typing import get_args

from fastapi.routing import APIRoute

from waypost.api.endpoints import Endpoint
from waypost.api.request_body import PartialBody
from waypost.api.types import IdInPath
from waypost.server.routers import API_ROUTERS, endpoint_table

ROUTES = [route for router in API_ROUTERS for route in router.routes if isinstance(route, APIRoute)]


def _markers(route: APIRoute, parameter: str) -> tuple[object, ...]:
    return get_args(inspect.signature(route.endpoint, eval_str=True).parameters[parameter].annotation)


def test_body_of_every_update_is_declared_as_partial() -> None:
    updates = [route for route in ROUTES if "PUT" in (route.methods or ()) and route.body_field is not None]
    assert len(updates) >= 13
    for route in updates:
        assert PartialBody in _markers(route, "body"), route.path


def test_every_id_in_a_path_is_declared_as_one() -> None:
    ids = [(route, name) for route in ROUTES for name in re.findall(r"\{(\w*id)\}", route.path)]
    assert len(ids) >= 50
    for route, name in ids:
        assert IdInPath in _markers(route, name), route.path


def test_only_documentation_needs_no_key() -> None:
    for path in ("/docs", "/docs/start.js", "/openapi.json"):
        match = endpoint_table().find("GET", path)
        assert match is not None
        assert match[0].handling.is_public, path
    assert not [route.path for route in ROUTES if Endpoint(route).handling.is_public]

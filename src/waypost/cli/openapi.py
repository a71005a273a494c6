"""The `waypost openapi` command."""

from waypost.cli import access, console
from waypost.server.routers import api_document


def openapi() -> None:
    """Print the OpenAPI document of the API."""
    console.as_json(api_document(access.settings()))

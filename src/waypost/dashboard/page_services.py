"""The services that all requests for pages share."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from sqlalchemy import Connection
from starlette.responses import Response

from waypost.dashboard.result_cache import ResultCache
from waypost.signing import Signer

Preview = Callable[[str, Mapping[str, Any]], Response]
"""Renders a public page for a preview, from its kind and its fields."""


class DryRun(Protocol):
    """Evaluates a link without a visit (waypost.links.dry_run): the reason for no redirect, and the destination."""

    def __call__(
        self, tx: Connection, account: int, link: int, *, country: str, os: str, device: str, language: str
    ) -> tuple[str, str]: ...


@dataclass(frozen=True)
class PageServices:
    """Services that all page requests of a process share. `preview` and `bio_page` render public pages."""

    signer: Signer
    render_template: Callable[..., str]
    preview: Preview
    dry_run: DryRun
    secure: bool
    bio_page: Callable[..., str]
    results: ResultCache = field(default_factory=ResultCache)

    @property
    def cookie(self) -> str:
        """The name of the session cookie. On HTTPS it has the `__Host-` prefix, so that no other host can set it."""
        return "__Host-waypost" if self.secure else "waypost"

"""What an overlay's form carries: our word that this link's page showed it, and where its visitor was going."""

import base64
import hashlib
import hmac

import anyio.to_thread
from sqlalchemy import select

from waypost.db.database import Database
from waypost.db.schema import installation


class FormTokens:
    """Makes and checks tickets. They keep out who never saw the page, and URLs that we did not put there."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._key = b""

    async def of(self, overlay: int, link: int, url: str) -> str:
        """The ticket for the form of an overlay on the way from a link to `url`."""
        words = f"{overlay}\t{link}\t{url}".encode()
        return base64.urlsafe_b64encode(hmac.digest(await self._known(), words, "sha256")[:18]).decode()

    async def fits(self, ticket: str, *, overlay: int, link: int, url: str) -> bool:
        """Whether we made it for exactly this."""
        return hmac.compare_digest(ticket.encode(), (await self.of(overlay, link, url)).encode())

    async def _known(self) -> bytes:
        if not self._key:
            chosen = select(installation.c.value).where(installation.c.name == "secret")
            found = await anyio.to_thread.run_sync(self._database.read, lambda tx: tx.execute(chosen).scalar_one())
            self._key = hashlib.sha256(b"tickets of overlays:" + bytes(found)).digest()
        return self._key

"""Does a domain point at this service? A request to it must come back to us with our own proof (decision 39)."""

import hashlib
import hmac
import secrets

from sqlalchemy import Connection, select

from waypost.db.schema import installation
from waypost.errors import Problem, invalid
from waypost.http import safe_client
from waypost.http.safe_client import Resolve

PATH = "/.well-known/waypost/"
_CHALLENGE_BYTES = 16


def proof(tx: Connection, challenge: str) -> str:
    """What this installation, and no other, answers to a challenge."""
    secret = tx.execute(select(installation.c.value).where(installation.c.name == "secret")).scalar_one()
    return hmac.new(secret, b"domain:" + challenge[:64].encode(), hashlib.sha256).hexdigest()


def new_challenge() -> str:
    """A challenge that nobody could have answered before."""
    return secrets.token_hex(_CHALLENGE_BYTES)


def must_point_here(
    scheme: str, host: str, *, challenge: str, expected: str, resolver: Resolve = safe_client.resolve
) -> None:
    """Raise INVALID on `domain` unless a request to the host comes back to this service.

    The certificate is not asked for: it may be issued only after the domain is known, and the proof needs none.
    """
    url = f"{scheme}://{host}{PATH}{challenge}"
    try:
        answer = safe_client.fetch(url, max_bytes=1024, verify=False, resolver=resolver)
    except safe_client.Refused as error:
        raise _elsewhere(host, f"{url}: {error}") from error
    if not hmac.compare_digest(answer.body.strip(), expected.encode()):
        raise _elsewhere(host, f"{url} was answered by another service")


def _elsewhere(host: str, why: str) -> Problem:
    return invalid("domain", f"domain must point at this service before it is added; {host} does not: {why}.")

"""Check that a domain points at this installation: a request to it must return our signed proof (decision 39)."""

import hmac
import secrets

from sqlalchemy import Connection

from waypost.errors import Kind, Problem
from waypost.http import safe_client
from waypost.http.safe_client import Resolver
from waypost.signing import installation_signer

PATH = "/.well-known/waypost/"
SECONDS = 10
"""The time for a request to a domain."""
_CHALLENGE_BYTES = 16
_MAX_CHALLENGE = 64  # characters


class NotPointingHere(Problem):
    """INVALID on `domain`: it does not point to this server. `reason` is a sentence that says why."""

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(Kind.INVALID, message, field="domain")
        self.reason = reason


def proof(tx: Connection, challenge: str) -> str:
    """Return the response to a challenge, in hexadecimal. Only this installation can compute it."""
    return installation_signer(tx).digest("domain ownership", challenge[:_MAX_CHALLENGE]).hex()


def new_challenge() -> str:
    """Return a random challenge."""
    return secrets.token_hex(_CHALLENGE_BYTES)


def must_point_here(
    scheme: str,
    host: str,
    *,
    challenge: str,
    expected: str,
    seconds: float,
    resolver: Resolver = safe_client.resolve,
) -> None:
    """Raise INVALID on `domain` unless a request to the host reaches this installation.

    The certificate is not verified: it may be issued only after the domain is added, and the proof does not need it.
    """
    url = f"{scheme}://{host}{PATH}{challenge}"
    try:
        response = safe_client.fetch(url, max_bytes=1024, seconds=seconds, verify=False, resolver=resolver)
    except safe_client.Refused as error:
        message = (
            f"domain must point at this service before it is added; {host} does not:"
            f" the request to {scheme}://{host} failed: {error}."
        )
        raise NotPointingHere(message, f"The request to {scheme}://{host} failed: {error}.") from error
    if not hmac.compare_digest(response.body.strip(), expected.encode()):
        message = (
            f"domain must point at this service before it is added; {host} does not:"
            f" another service answered the request to {scheme}://{host}."
        )
        raise NotPointingHere(message, f"Another service answered the request to {scheme}://{host}.")

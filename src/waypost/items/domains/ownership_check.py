"""Check that a domain points at this installation: a request to it must return our signed proof (decision 39)."""

import hmac
import secrets
from typing import Literal

from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import Response

from waypost.core.errors import Kind, Problem
from waypost.db.signing import installation_signer
from waypost.http import safe_client
from waypost.http.safe_client import Resolver
from waypost.visits.responses import PAGE_HEADERS
from waypost.visits.visitor_services import Services

PATH = "/.well-known/waypost/"
SECONDS = 10
"""The time for a request to a domain."""
Field = Literal["domain", "alsowww"]
"""The field that a host is checked for."""
_CHALLENGE_BYTES = 16
_MAX_CHALLENGE = 64  # characters


class NotPointingHere(Problem):
    """INVALID on `domain` or `alsowww`: a host does not point to this server. `reason` is a sentence that says why.

    `status` is that of a response without the proof, 0 without a response.
    """

    def __init__(self, message: str, field: Field, reason: str, status: int = 0) -> None:
        super().__init__(Kind.INVALID, message, field=field)
        self.reason, self.status = reason, status


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
    field: Field = "domain",
    resolver: Resolver = safe_client.resolve,
) -> None:
    """Raise INVALID on `field` unless a request to the host reaches this installation.

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
        if field == "alsowww":
            message = (
                f"alsowww cannot be turned on until {host} points at this service:"
                f" the request to {scheme}://{host} failed: {error}."
            )
        raise NotPointingHere(message, field, f"The request to {scheme}://{host} failed: {error}.") from error
    if not hmac.compare_digest(response.body.strip(), expected.encode()):
        message = (
            f"domain must point at this service before it is added; {host} does not:"
            f" another service answered the request to {scheme}://{host}."
        )
        if field == "alsowww":
            message = (
                f"alsowww cannot be turned on until {host} points at this service:"
                f" another service answered the request to {scheme}://{host}."
            )
        reason = f"Another service answered the request to {scheme}://{host}."
        raise NotPointingHere(message, field, reason, response.status)


async def answer_challenge(request: Request, services: Services) -> Response:
    """`/.well-known/waypost/<challenge>`: prove that a domain points to this installation."""
    challenge = request.path_params["challenge"]
    answer = await services.read(lambda tx: proof(tx, challenge))
    return Response(answer, media_type="text/plain", headers=PAGE_HEADERS)

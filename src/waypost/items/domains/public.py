"""The response to a domain ownership check (decision 39)."""

from starlette.requests import Request
from starlette.responses import Response

from waypost.items.domains import ownership_check
from waypost.visits.responses import PAGE_HEADERS
from waypost.visits.visitor_services import Services


async def answer_challenge(request: Request, services: Services) -> Response:
    """`/.well-known/waypost/<challenge>`: prove that a domain points to this installation."""
    challenge = request.path_params["challenge"]
    proof = await services.read(lambda tx: ownership_check.proof(tx, challenge))
    return Response(proof, media_type="text/plain", headers=PAGE_HEADERS)

"""Signed token in an overlay's form: proves that a page of this link contained the form, and what its destination is.

It rejects programs that never loaded the page, and destinations that this service did not put into the form.
"""

from waypost.db.signing import Signer

_PURPOSE = "overlay form"


def create(signer: Signer, *, overlay: int, link: int, url: str) -> str:
    """Return the token for the form of an overlay between a link and `url`."""
    return signer.sign(_PURPOSE, bound=f"{overlay}\t{link}\t{url}")


def verify(signer: Signer, token: str, *, overlay: int, link: int, url: str) -> bool:
    """Return whether the token was created for exactly these values."""
    return signer.unsign(_PURPOSE, token, bound=f"{overlay}\t{link}\t{url}") is not None

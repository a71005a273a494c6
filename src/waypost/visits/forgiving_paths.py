"""Forgiving paths: without what mail and chat programs append to an address (decision 49)."""

from waypost.urls import alias_namespace, alias_rules
from waypost.urls.alias_namespace import OWN, ROTATORS
from waypost.visits.visit import VisitService

_SLASHES_OF_DELETION = 4  # /files/delete/ID/SIGNATURE
_ALIAS_PREFIXES = ("/r/", "/qr/")


async def meant_path(visits: VisitService, host: str, path: str) -> str:
    """Return the path that a request means. An exact name always wins, so that names may end with punctuation.

    A name costs at most two more reads than without this, and unknown names are cached.
    """
    if not alias_rules.without_appended(path):
        return path
    if host == OWN and path.startswith("/files/"):
        # The signature of a deletion URL can end with "-", but not with other punctuation, and never misses.
        trimmed = alias_rules.without_appended(path, host=host)
        return trimmed if trimmed.count("/") >= _SLASHES_OF_DELETION else path
    for candidate in dict.fromkeys((path, alias_rules.without_appended(path, host=host))):
        if alias_rules.without_appended(candidate) == candidate:
            return candidate  # nothing is left to cut off
        if await _is_name(visits, host, candidate):
            return candidate
    return alias_rules.without_appended(path)


async def _is_name(visits: VisitService, host: str, path: str) -> bool:
    """Return whether a path is exactly that of an alias, a rotator or the image of a QR code."""
    prefix = next((prefix for prefix in _ALIAS_PREFIXES if path.startswith(prefix)), "/") if host == OWN else "/"
    name = alias_rules.normalize(path.removeprefix(prefix), host)
    if not alias_rules.is_valid(name, host=host):
        return False
    if prefix == "/r/":
        return await visits.read(lambda tx: alias_namespace.find(tx, ROTATORS, name)) is not None
    return await visits.resolve(host, await visits.canonical_alias(host, name)) is not None

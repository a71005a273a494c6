"""Names of the pictures of bio pages, and new pictures in `data:` URLs. The child of imports reads both in archives."""

import re

DATA_PREFIX = "data:image/webp;base64,"
"""The beginning of a new picture: a `data:` URL with our own copy (waypost.items.bios.pictures)."""
NAME = re.compile(r"picture-([0-9]{1,15})\Z")
_DATA = re.compile(re.escape(DATA_PREFIX) + r"[A-Za-z0-9+/]+=*\Z")
BLOCK_PARTS = ("thumbnail", "picture")
"""The parts of blocks that are pictures: of a link, and of an image."""


def is_name(value: object) -> bool:
    """Return whether the value is the name of a stored picture, such as `picture-12`."""
    return isinstance(value, str) and NAME.match(value) is not None


def is_copy(value: str) -> bool:
    """Return whether the value has the form of a new picture. The bytes can still be those of anything."""
    return _DATA.match(value) is not None

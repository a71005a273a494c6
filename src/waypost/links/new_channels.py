"""Channels that are typed in the link editor: existing ones by their name, new ones are created."""

from sqlalchemy import Connection

from waypost.db import crud, unique_names
from waypost.db.schema import channels
from waypost.errors import invalid, taken
from waypost.links import group_names

_FIELD = "newchannel"
_MAX_NAMES = 20
_MAX_LENGTH = 255
_TAKEN = unique_names.errors(channels, taken(_FIELD, "You already have a channel with this name."))


def ensure(tx: Connection, account: int, text: str) -> list[int]:
    """Return the ids of the channels with the names in `text`, which commas separate. Raises INVALID on `newchannel`.

    Existing channels are found without regard to case and Unicode form.
    """
    names = list(dict.fromkeys(filter(None, (" ".join(name.split()) for name in text.split(",")))))
    if len(names) > _MAX_NAMES:
        raise invalid(_FIELD, f"At most {_MAX_NAMES} channels can be added at once.")
    if any(len(name) > _MAX_LENGTH or not name.isprintable() for name in names):
        raise invalid(
            _FIELD, f"The name of a channel must have at most {_MAX_LENGTH} characters, all of them printable."
        )
    return [
        group_names.find(tx, account, "channel", name) or crud.add(tx, channels, account, {"name": name}, _TAKEN)
        for name in names
    ]

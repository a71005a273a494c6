"""Channels that are typed in the link editor: existing ones by their name, new ones are created."""

from sqlalchemy import Connection, func, select

from waypost.db import crud
from waypost.db.schema import channels
from waypost.errors import invalid, taken

_FIELD = "newchannel"
_MAX_NAMES = 20
_MAX_LENGTH = 255
_TAKEN = {"channels_account_name_unique": taken(_FIELD, "You already have a channel with this name.")}


def ensure(tx: Connection, account: int, text: str) -> list[int]:
    """Return the ids of the channels with the names in `text`, which commas separate. Raises INVALID on `newchannel`.

    Existing channels are found without regard to case.
    """
    names = list(dict.fromkeys(filter(None, (" ".join(name.split()) for name in text.split(",")))))
    if len(names) > _MAX_NAMES:
        raise invalid(_FIELD, f"At most {_MAX_NAMES} channels can be added at once.")
    if any(len(name) > _MAX_LENGTH or not name.isprintable() for name in names):
        raise invalid(
            _FIELD, f"The name of a channel must have at most {_MAX_LENGTH} characters, all of them printable."
        )
    return [_find(tx, account, name) or crud.add(tx, channels, account, {"name": name}, _TAKEN) for name in names]


def _find(tx: Connection, account: int, name: str) -> int | None:
    c = channels.c
    same = select(c.id).where(c.account == account, func.lower(c.name) == name.lower())
    exact_first = same.order_by((c.name == name).desc(), c.id).limit(1)
    return tx.execute(exact_first).scalar_one_or_none()

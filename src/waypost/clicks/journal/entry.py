"""The line format of the click journal: tab-separated fields, one line per visit."""

from collections.abc import Sequence

# Flags of a line. They exclude a visit from the clicks, or say where it came from.
HEAD = b"h"
PREFETCH = b"p"
LATE = b"l"
SCAN = b"q"
TAKEN = b"t"  # a click that was subtracted from a click limit before the response
ROTATED = b"r"  # a visit of a campaign whose rotator picked a link; the link id follows; always the last flag


def rotated(link: int) -> bytes:
    """Return the flag of a visit that a rotator sent to this link."""
    return b"%b%d" % (ROTATED, link)


def item_fields(account: int, kind: str, item: int) -> bytes:
    """Return the fields of a line that identify the visited item."""
    return b"%d\t%b\t%d" % (account, kind.encode(), item)


def format_line(
    item_fields: bytes, at_ms: int, flags: bytes, address: bytes, country: bytes, headers: tuple[bytes, bytes, bytes]
) -> bytes:
    """Return one journal line. `headers` are User-Agent, Referer and Accept-Language as received."""
    country, *headers_without_tabs = (value.replace(b"\t", b" ") for value in (country[:2], *headers))
    return join_fields(b"%d" % at_ms, item_fields, flags, (address, country), headers_without_tabs) + b"\n"


def join_fields(
    at: bytes, item_fields: bytes, flags: bytes, client: tuple[bytes, bytes], headers: Sequence[bytes]
) -> bytes:
    """Return the line as `format_line`, without its end. No header may contain a tab.

    `at`: the digits of `at_ms`. `client`: the address and the country.
    """
    address, country = client
    agent, referrer, language = headers
    return b"\t".join((at, item_fields, flags, address, country, agent[:512], referrer[:1024], language[:64]))

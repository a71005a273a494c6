"""The line format of the click journal: tab-separated fields, one line per visit."""

# Flags of a line. They exclude a visit from the clicks, or say where it came from.
HEAD = b"h"
PREFETCH = b"p"
LATE = b"l"
SCAN = b"q"
TAKEN = b"t"  # a click that was subtracted from a click limit before the response
ROTATED = b"r"  # a visit of a campaign whose rotator picked a link; the link id follows; always the last flag

_LINE = b"%d\t%b\t%b\t%b\t%b\t%b\t%b\t%b\n"
_TABS = 9  # two of them in the item's fields


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
    agent, referrer, language = headers
    line = _LINE % (at_ms, item_fields, flags, address, country[:2], agent[:512], referrer[:1024], language[:64])
    if line.count(b"\t") != _TABS:  # a tab in a header is allowed, but rare
        values = country[:2], agent[:512], referrer[:1024], language[:64]
        line = _LINE % (at_ms, item_fields, flags, address, *[value.replace(b"\t", b" ") for value in values])
    return line

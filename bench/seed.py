"""Seed an account with very many links in a minute, and compute what its lists must return."""

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, insert, text

from waypost.admin.new_accounts import create_account
from waypost.db import page_counters
from waypost.db.database import Database
from waypost.db.postgres import disable_timeouts
from waypost.db.schema import aliases, links
from waypost.db.upgrade import upgrade
from waypost.items.links.columns import search_text, url_hash
from waypost.transfer.backup.tables import set_next_ids

PER_PAGE = 15
ODD = "zeppelin"  # in a thousand links, evenly distributed
PAIR = "garden festival"  # two words of many links, adjacent in few
LETTERS = "zz"
EVERY = "https"
_BATCH = 10_000
_BLOCK = 1 << 10  # number of ids per counter of the finest level
_ALPHABET = "BCDFGHJKLMNPQRSTVWXYZbcdfghjkmnpqrstvwxyz23456789"
_WORDS = """
    account almanac archive autumn bakery balcony ballet bicycle blanket bridge brochure budget butter cabin calendar
    candle careers castle catalogue cellar ceramics cheese chess choir cinema classic clinic coffee concert cookbook
    copper cottage course cruise cycling dance delivery design dinner discount download drawing electric energy europe
    evening event express fabric family farm fashion ferry festival film finance fitness flight flower forest fresh
    furniture gallery garden gift glass guide guitar handbook harbour harvest health heritage hiking history holiday
    hotel house invoice island jacket jazz journal juice kitchen knitting lantern launch lecture leather lesson letter
    library lighting linen manual map maple marathon market meadow menu mirror modern mountain museum music naples
    newsletter notebook ocean offer olive opera orchard organic outdoor oxford painting paper partner pepper phone
    piano picnic planet podcast poetry pottery privacy product puzzle quarter radio railway recipe release report
    river roadmap sailing salad sale school science season ski spring studio summer survey team theatre ticket tour
    travel update vintage walking webinar winter workshop yoga
""".split()


@dataclass
class Filled:
    """The account: its links by clicks, and the number and the newest matches of each search."""

    folder: Path
    links: int
    account: int = 0
    key: str = ""
    by_clicks: list[int] = field(default_factory=list)
    matches: Counter[str] = field(default_factory=Counter)
    newest: dict[str, list[int]] = field(default_factory=dict)

    @property
    def rare(self) -> str:
        """A search that matches one link."""
        return _ref(self.links // 2)

    @property
    def pages(self) -> int:
        """The number of pages of the list."""
        return -(-self.links // PER_PAGE)

    def learn(self, batch: Sequence[Mapping[str, Any]]) -> None:
        """Record the expected matches of these links, which are newer than all before."""
        for q in (self.rare, ODD, PAIR, LETTERS, EVERY):
            ids = [row["id"] for row in batch if q in row["search"]]
            self.matches[q] += len(ids)
            self.newest[q] = [*reversed(ids), *self.newest.get(q, ())][:PER_PAGE]


def fill(folder: Path, count: int, url: str | None = None) -> Filled:
    """Create a database with one account, and links as if the API had created them: in the folder, or at `url`."""
    folder.mkdir()
    database = Database(url or f"sqlite:///{folder / 'waypost.db'}")
    upgrade(database)
    owner = create_account(database, email="ana@example.com", username="ana", rate_limit=1_000_000_000)
    filled = Filled(folder, count, owner.id, owner.apikey)
    resume_indexing = database.write(_stop_indexing)
    rows = _rows(filled)
    while batch := list(islice(rows, _BATCH)):
        filled.learn(batch)
        database.write(partial(_insert, account=filled.account, batch=batch), durability="relaxed")
    database.write(partial(_index, statements=resume_indexing), durability="relaxed")
    database.close()
    return filled


def alias(item: int) -> str:
    """Return the unique alias of a link: six characters in pseudo-random order."""
    number, letters = item * 7_368_787_571 % len(_ALPHABET) ** 6, ""
    for _ in range(6):
        number, digit = divmod(number, len(_ALPHABET))
        letters += _ALPHABET[digit]
    return letters


def _ref(item: int) -> str:
    """Return eight hexadecimal digits that are unique to the link."""
    return f"{item * 2_654_435_761 % 2**32:08x}"


def _rows(filled: Filled) -> Iterator[dict[str, Any]]:
    """Yield the links, oldest first, as rows without columns that have defaults."""
    chance, every = random.Random(2026), filled.links // 1000
    clicks = [int(chance.paretovariate(0.8)) - 1 for _ in range(filled.links)]
    filled.by_clicks = sorted(range(1, filled.links + 1), key=lambda item: (clicks[item - 1], item), reverse=True)
    for item, n in enumerate(clicks, 1):
        a, b, c, d, e, f, g = chance.choices(_WORDS, k=7)
        row = {
            "id": item,
            "account": filled.account,
            "created": 1_700_000_000 + item,
            "alias": alias(item),
            "url": f"https://www.{a}-{b}.example/{c}/{d}.html?utm_source=newsletter&ref={_ref(item)}",
            "title": f"{e} {f} {2000 + item % 27}".capitalize(),
            "description": f"The {g} {ODD if item % every == 0 else a} of {b}, all about {c}.",
            "clicks": n,
            "uniqueclicks": n * 2 // 3,
        }
        yield {**row, "urlhash": url_hash(str(row["url"])), "search": search_text(row)}


def _insert(tx: Connection, account: int, batch: Sequence[Mapping[str, Any]]) -> None:
    """Insert many links with the rows that `links.ops.add` would create."""
    tx.execute(insert(links), batch)
    entries = [
        {"host": "", "alias": row["alias"], "account": account, "kind": "link", "item": row["id"]} for row in batch
    ]
    tx.execute(insert(aliases), entries)
    for block, n in Counter(row["id"] // _BLOCK for row in batch).items():
        page_counters.increment(tx, account, links.name, block * _BLOCK, n)


def _stop_indexing(tx: Connection) -> Sequence[str]:
    """Stop updating the search index, because building it afterwards takes a quarter of the time or less.

    Return the statements that build it.
    """
    if tx.dialect.name == "sqlite":
        query = "SELECT sql FROM sqlite_master WHERE name = 'links_search_added'"
        trigger = str(tx.execute(text(query)).scalar_one())
        tx.execute(text("DROP TRIGGER links_search_added"))
        return "INSERT INTO links_search (links_search) VALUES ('rebuild')", trigger
    query = "SELECT indexdef FROM pg_indexes WHERE indexname = 'links_search_index'"
    index = str(tx.execute(text(query)).scalar_one())
    tx.execute(text("DROP INDEX links_search_index"))
    tx.execute(text("ALTER TABLE links DISABLE TRIGGER links_search_added_or_removed"))
    return (
        "INSERT INTO links_search (account, link, search) SELECT account, id, search FROM links",
        "SET LOCAL maintenance_work_mem = '256MB'",
        index,
        "ALTER TABLE links ENABLE TRIGGER links_search_added_or_removed",
        "ANALYZE",
    )


def _index(tx: Connection, statements: Sequence[str]) -> None:
    disable_timeouts(tx)
    for statement in statements:
        tx.exec_driver_sql(statement)
    set_next_ids(tx, [links], {})

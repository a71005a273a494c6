"""What a run of journal lines adds to the numbers: pure, no database."""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any, Literal, NamedTuple

from waypost.clicks.classify.classifier import agent, language, referrer
from waypost.clicks.journal import writer as journal

Sort = Literal["click", "bot", "preview", "late", "other"]
ALL_DAYS = -1
DAY = 86_400
QUARTER = 900
BESIDE = frozenset({"campaign"})
"""Kinds that an account's own sums leave out: who comes through a campaign is counted by the link he gets."""
_FIELDS = 10
_DIGITS = 15
_LINK_LABEL = "link "
_KIND = re.compile(rb"[a-z]{1,8}")
_new: Any = tuple.__new__
_COLUMN = {"click": 0, "bot": 2, "preview": 3, "other": 4, "late": 5}


class Seen(NamedTuple):
    """What a click tells of its visitor: a label for each dimension."""

    country: str
    referrer: str
    network: str
    browser: str
    os: str
    device: str
    language: str
    source: str


class Visit(NamedTuple):
    """A journal line, classified. `digest` tells the visitors of a day apart; there is no address any more.

    `taken`: a limit was lowered for it before it was answered.
    """

    account: int
    kind: str
    item: int
    second: int
    ms: int
    sort: Sort
    digest: bytes
    seen: Seen
    taken: bool


class Reader:
    """Turns journal lines into visits. Lines that are none, torn by a crash or a full disk, are counted in `torn`."""

    def __init__(self, *, country: Callable[[str], str], country_of_code: Callable[[str], str]) -> None:
        self._country = country
        self._country_of_code = country_of_code
        self.torn = 0

    def visits(self, lines: bytes, secret: Callable[[int], hashlib.blake2b]) -> Iterator[Visit]:
        """Every visit in whole lines; `secret` answers the hash that a day (since 1970) begins with, see `begun`."""
        for line in lines.split(b"\n"):
            if not line:
                continue
            parts = line.split(b"\t")
            try:
                yield self._visit(parts, secret)
            except (ValueError, IndexError):
                self.torn += 1

    def _visit(self, parts: list[bytes], secret: Callable[[int], hashlib.blake2b]) -> Visit:
        if len(parts) != _FIELDS:
            raise ValueError("not a line of ours")
        at, account, kind, item, flags, address, code, agent_text, referrer_text, languages = parts
        # What the database cannot hold would stop the counting for ever.
        if len(at) > _DIGITS or len(account) > _DIGITS or len(item) > _DIGITS or not (at + account + item).isdigit():
            raise ValueError("not a line of ours")
        ms = int(at)
        second = ms // 1000
        who = agent(agent_text.decode("utf-8", "replace"))
        noun, source, sort, taken = _said(kind, flags, who.kind)
        came = referrer(referrer_text.decode("utf-8", "replace"))
        digest = secret(second // DAY).copy()
        digest.update(b"\t".join((address, agent_text, kind, item)))
        country = self._country_of_code(code.decode("latin-1")) if code else self._country(address.decode("latin-1"))
        spoken = language(languages.decode("latin-1"))
        # Made as a tuple is, which takes a third of the time, and that is many times a second.
        seen = _new(Seen, (country, came.label, came.network, who.browser, who.os, who.device, spoken, source))
        visit: Visit = _new(Visit, (int(account), noun, int(item), second, ms, sort, digest.digest(), seen, taken))
        return visit


def begun(salt: bytes) -> hashlib.blake2b:
    """The hash that tells the visitors of a day apart, as far as it is the same for all of them."""
    return hashlib.blake2b(digest_size=12, key=salt)


@lru_cache(maxsize=4096)
def _said(kind: bytes, flags: bytes, who: str) -> tuple[str, str, Sort, bool]:
    """What kind of thing was visited, the way there, what it counts as, and whether a limit was lowered for it."""
    if not _KIND.fullmatch(kind):
        raise ValueError("not a line of ours")
    return kind.decode(), _source(kind, flags), _sort(flags, who), journal.TAKEN in flags


def _source(kind: bytes, flags: bytes) -> str:
    """The way that a visitor came; for a campaign, what of it he met: its list page, or the link he was sent to."""
    if kind == b"campaign":
        link = flags.partition(journal.ROTATED)[2]
        return label_of(int(link)) if link else "list"
    return "qr" if journal.SCAN in flags else "bio" if kind == b"block" else "link"


def label_of(link: int) -> str:
    """Return the label under which a campaign counts the clicks that its rotator sent to a link."""
    return f"{_LINK_LABEL}{link}"


def link_of(label: str) -> int | None:
    """Return the id in a label made by `label_of`; `None` for other labels, such as "list"."""
    link = label.removeprefix(_LINK_LABEL)
    return int(link) if link != label else None


def _sort(flags: bytes, who: str) -> Sort:
    """What a visit counts as (decision 47): only a `click` is counted."""
    if who == "bot":
        return "bot"
    if who == "preview":
        return "preview"
    if journal.HEAD in flags or journal.PREFETCH in flags:
        return "other"
    return "late" if journal.LATE in flags else "click"


class _Thing:
    """What the visits of one thing add up to."""

    __slots__ = ("seen", "times", "total")

    def __init__(self) -> None:
        self.times: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0, 0, 0, 0])  # by quarter, see _COLUMN
        self.seen: dict[int, list[Seen]] = defaultdict(list)  # by day
        self.total = [0, 0, 0]  # clicks, first ones of a day, those that no limit was lowered for


class Sums:
    """What visits add up to, by thing and, for their account as a whole, once more."""

    def __init__(self, visits: Iterable[Visit], new: Mapping[int, set[bytes]]) -> None:
        """`new` has, by day, the digests that no earlier click of that day had."""
        self.firsts: list[bool] = []
        self._things: dict[tuple[str, int, int], _Thing] = defaultdict(_Thing)
        for account, kind, item, second, _, sort, digest, told, taken in visits:
            thing = self._things[kind, item, account]
            row = thing.times[second - second % QUARTER]
            row[_COLUMN[sort]] += 1
            if sort != "click":
                self.firsts.append(False)
                continue
            day = second // DAY
            unmet = new[day]
            if first := digest in unmet:
                unmet.discard(digest)
            self.firsts.append(first)
            row[1] += first
            thing.seen[day].append(told)
            total = thing.total
            total[0] += 1
            total[1] += first
            total[2] += not taken

    def totals(self, kind: str) -> list[tuple[int, int, int, int]]:
        """(item, clicks, first ones of a day, those that no limit was lowered for) of each clicked thing of a kind."""
        return sorted(
            (item, *thing.total)  # type: ignore[misc]  # three of them
            for (of, item, _), thing in self._things.items()
            if of == kind and thing.seen
        )

    def times(self) -> list[tuple[str, int, int, int, int, int, int, int, int, int]]:
        """(kind, item, quarter, account, and the counts of `click_times`), in the order of the key."""
        found: dict[tuple[str, int, int, int], list[int]] = {}
        for (kind, item, account), thing in self._things.items():
            for quarter, row in thing.times.items():
                found[kind, item, quarter, account] = row
                if kind in BESIDE:
                    continue
                whole = found.setdefault(("account", account, quarter, account), [0] * len(row))
                whole[:] = map(sum, zip(whole, row, strict=True))
        return [(*key, *row) for key, row in sorted(found.items())]  # type: ignore[misc]  # six of them

    def labels(self) -> Iterator["Labels"]:
        """How often each label came, for each day and for all days, in the order of the key."""
        parts: dict[tuple[str, int, int, int], list[_Counts]] = defaultdict(list)
        for (kind, item, account), thing in self._things.items():
            for day, told in thing.seen.items():
                # A column at a time: each label by itself would take twice as long to count.
                counts = tuple(map(Counter, zip(*told, strict=True)))
                for of, number in ((kind, item),) if kind in BESIDE else ((kind, item), ("account", account)):
                    parts[of, number, day, account].append(counts)
                    parts[of, number, ALL_DAYS, account].append(counts)
        for (kind, item, day, account), found in sorted(parts.items(), key=itemgetter(0)):
            yield Labels(kind, item, day, account, found[0] if len(found) == 1 else _merged(found))


_Counts = tuple[dict[str, int], ...]  # for each dimension, how often each label came


class Labels(NamedTuple):
    """How often each label came with the clicks of one thing in one day."""

    kind: str
    item: int
    day: int
    account: int
    counts: _Counts


def columns_of(several: Iterable[Labels]) -> dict[str, list[Any]]:
    """The columns of `click_labels`. A row for each label would take twice as long."""
    kinds, items, days, dimensions, labels, accounts, clicks = columns = tuple[list[Any], ...]([] for _ in range(7))
    for kind, item, day, account, counts in several:
        before = len(labels)
        for dimension, place in _BY_NAME:
            counted = counts[place]
            known = sorted(filter(None, counted))
            dimensions += [dimension] * len(known)
            labels += known
            clicks += map(counted.__getitem__, known)
        number = len(labels) - before
        kinds += [kind] * number
        items += [item] * number
        days += [day] * number
        accounts += [account] * number
    return dict(zip(("kind", "item", "day", "dimension", "label", "account", "n"), columns, strict=True))


_BY_NAME = sorted((name, place) for place, name in enumerate(Seen._fields))


def _merged(several: Sequence[_Counts]) -> _Counts:
    sums: _Counts = tuple({} for _ in Seen._fields)
    for counts in several:
        for into, found in zip(sums, counts, strict=True):
            for label, count in found.items():
                into[label] = into.get(label, 0) + count
    return sums

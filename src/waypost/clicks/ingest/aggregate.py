"""Parse, classify and aggregate journal lines. Pure; no database."""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache, lru_cache
from operator import itemgetter
from typing import Any, Literal, NamedTuple

from waypost.clicks import journal
from waypost.clicks.classify import classifier
from waypost.clicks.classify.classifier import agent, language, referrer
from waypost.clicks.geo import countries
from waypost.clicks.geo.countries import Place

Outcome = Literal["click", "bot", "preview", "late", "other"]
ALL_DAYS = -1
DAY = 86_400
QUARTER = 900
IMPORTED = "imported"
"""The dimension, and its only label, that counts the imported ones of the clicks."""
NOT_IN_ACCOUNT_TOTALS = frozenset({"campaign"})
"""Kinds that an account's totals leave out. A campaign visit is counted by its link."""
_FIELDS = 10
_MAX_DIGITS = 15
_LINK_LABEL = "link "
_KIND = re.compile(rb"[a-z]{1,8}")
_new_tuple: Any = tuple.__new__
_COLUMN = {"click": 0, "bot": 2, "preview": 3, "other": 4, "late": 5}  # 1 is for unique clicks


PLACES = ("region", "city")
"""Dimensions of which only visitors are counted, and which single visits do not have."""


class VisitAttributes(NamedTuple):
    """The label of a visit in each dimension."""

    country: str
    referrer: str
    network: str
    browser: str
    os: str
    device: str
    language: str
    source: str


DIMENSIONS = (*VisitAttributes._fields, *PLACES)


class Visit(NamedTuple):
    """A classified journal line. `digest` identifies the visitor of a day; the address is not kept.

    `taken`: the visit was subtracted from a click limit before the response. `place`: region and city, if they are
    counted.
    """

    account: int
    kind: str
    item: int
    second: int
    ms: int
    outcome: Outcome
    digest: bytes
    attributes: VisitAttributes
    taken: bool
    place: Place | None = None


class LineParser:
    """Turns journal lines into visits. Malformed lines, from a crash or a full disk, are counted in `malformed`.

    `first_malformed` is the offset of the first one in the lines of the last call.
    """

    def __init__(
        self,
        country: Callable[[str], str],
        own_hosts: AbstractSet[str],
        *,
        place: Callable[[str], Place] | None = None,
    ) -> None:
        """`country` and `place` return labels of an IP address. Pages of `own_hosts` are no foreign referrers."""
        self._country, self._place = country, place
        self.malformed = self.first_malformed = 0
        self.own_hosts = own_hosts

    def visits(self, lines: bytes, visitor_hash_of_day: Callable[[int], hashlib.blake2b]) -> Iterator[Visit]:
        """Yield every visit in whole lines. `visitor_hash_of_day` takes a day since 1970, see `visitor_hash`."""
        self.first_malformed = len(lines)
        for line in lines.split(b"\n"):
            if not line:
                continue
            fields = line.split(b"\t")
            try:
                yield self._visit(fields, visitor_hash_of_day)
            except (ValueError, IndexError):
                self.malformed += 1
                if self.first_malformed == len(lines):
                    self.first_malformed = (b"\n" + lines).find(b"\n" + line + b"\n")

    def _visit(self, fields: list[bytes], visitor_hash_of_day: Callable[[int], hashlib.blake2b]) -> Visit:
        if len(fields) != _FIELDS:
            raise ValueError("malformed journal line")
        at, account, kind, item, flags, address, code, user_agent, referer, accept_language = fields
        # A value that the database cannot store would stop the ingester for good.
        if max(len(at), len(account), len(item)) > _MAX_DIGITS or not (at + account + item).isdigit():
            raise ValueError("malformed journal line")
        ms = int(at)
        second = ms // 1000
        client = agent(user_agent.decode("utf-8", "replace"))
        item_kind, source, outcome, taken = _classify(kind, flags, client.kind)
        origin = referrer(referer.decode("utf-8", "replace"), own_hosts=self.own_hosts)
        digest = visitor_hash_of_day(second // DAY).copy()
        digest.update(b"\t".join((address, user_agent, kind, item)))
        country = countries.name_of(code.decode("latin-1")) if code else self._country(address.decode("latin-1"))
        place = self._place(address.decode("latin-1")) if self._place else None
        preferred = language(accept_language.decode("latin-1"))
        # tuple.__new__ takes a third of the time of the constructor, and this runs for every visit.
        attributes = _new_tuple(
            VisitAttributes,
            (country, origin.label, origin.network, client.browser, client.os, client.device, preferred, source),
        )
        visit: Visit = _new_tuple(
            Visit, (int(account), item_kind, int(item), second, ms, outcome, digest.digest(), attributes, taken, place)
        )
        return visit


def visitor_hash(salt: bytes) -> hashlib.blake2b:
    """Return the hash that identifies the visitors of a day, keyed with the day's salt. Copy it for each visit."""
    return hashlib.blake2b(digest_size=12, key=salt)


@lru_cache(maxsize=4096)
def _classify(kind: bytes, flags: bytes, client_kind: classifier.Kind) -> tuple[str, str, Outcome, bool]:
    """Return the kind of the visited item, the source, the outcome, and whether a limit was reduced."""
    if not _KIND.fullmatch(kind):
        raise ValueError("malformed journal line")
    return kind.decode(), _source(kind, flags), _outcome(flags, client_kind), journal.TAKEN in flags


def _source(kind: bytes, flags: bytes) -> str:
    """Return the source of a visit. For a campaign: "list" for its list page, or the label of the rotator's link."""
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


def _outcome(flags: bytes, client_kind: classifier.Kind) -> Outcome:
    """Return the outcome of a visit (decision 47). Only a `click` adds to the clicks."""
    if client_kind in ("bot", "preview"):
        return client_kind
    if journal.HEAD in flags or journal.PREFETCH in flags:
        return "other"
    return "late" if journal.LATE in flags else "click"


class _ItemAggregate:
    """Counts of the visits of one item."""

    __slots__ = ("attributes", "places", "times", "totals")

    def __init__(self) -> None:
        self.times: dict[int, list[int]] = defaultdict(lambda: [0] * 6)  # by quarter, see _COLUMN
        self.attributes: dict[int, list[VisitAttributes]] = defaultdict(list)  # of the clicks, by day
        self.places: dict[int, list[Place]] = defaultdict(list)  # of the visitors, by day
        self.totals = [0, 0, 0]  # clicks, unique clicks, clicks not taken from a limit in advance


class Aggregate:
    """Counts of visits by item and by account."""

    def __init__(self, visits: Iterable[Visit], new_visitors: Mapping[int, set[bytes]]) -> None:
        """`new_visitors` has, by day, the digests that no earlier click of that day had."""
        self.is_first: list[bool] = []
        self._items: dict[tuple[str, int, int], _ItemAggregate] = defaultdict(_ItemAggregate)
        for account, kind, item, second, _, outcome, digest, attributes, taken, place in visits:
            counts = self._items[kind, item, account]
            row = counts.times[second - second % QUARTER]
            row[_COLUMN[outcome]] += 1
            if outcome != "click":
                self.is_first.append(False)
                continue
            day = second // DAY
            uncounted = new_visitors[day]
            if is_first := digest in uncounted:
                uncounted.discard(digest)
            self.is_first.append(is_first)
            row[1] += is_first
            if place and is_first:
                counts.places[day].append(place)
            counts.attributes[day].append(attributes)
            totals = counts.totals
            totals[0] += 1
            totals[1] += is_first
            totals[2] += not taken

    def totals(self, kind: str) -> list[tuple[int, int, int, int, int]]:
        """Return (item, account, clicks, unique clicks, clicks not taken in advance) of each clicked item of a kind."""
        return sorted(
            (item, account, *counts.totals)  # type: ignore[misc]  # three of them
            for (item_kind, item, account), counts in self._items.items()
            if item_kind == kind and counts.attributes
        )

    def times(self) -> list[tuple[str, int, int, int, int, int, int, int, int, int]]:
        """Return rows of `click_times` (kind, item, quarter, account, six counts) in key order."""
        rows: dict[tuple[str, int, int, int], list[int]] = {}
        for (kind, item, account), counts in self._items.items():
            for quarter, row in counts.times.items():
                rows[kind, item, quarter, account] = row
                if kind in NOT_IN_ACCOUNT_TOTALS:
                    continue
                account_row = rows.setdefault(("account", account, quarter, account), [0] * len(row))
                account_row[:] = map(sum, zip(account_row, row, strict=True))
        return [(*key, *row) for key, row in sorted(rows.items())]  # type: ignore[misc]  # six of them

    def labels(self) -> Iterator["LabelCounts"]:
        """Yield the count of each label, by day and for all days, in key order."""
        parts: dict[tuple[str, int, int, int], list[_Counters]] = defaultdict(list)
        for (kind, item, account), counts in self._items.items():
            for day, attributes in counts.attributes.items():
                # Counting whole columns takes half the time of counting single labels.
                counters = tuple(map(Counter, zip(*attributes, strict=True)))
                if places := counts.places.get(day):
                    counters += tuple(map(Counter, zip(*places, strict=True)))
                own, whole = (kind, item), ("account", account)
                for owner_kind, owner in (own,) if kind in NOT_IN_ACCOUNT_TOTALS else (own, whole):
                    parts[owner_kind, owner, day, account].append(counters)
                    parts[owner_kind, owner, ALL_DAYS, account].append(counters)
        for (kind, item, day, account), several in sorted(parts.items(), key=itemgetter(0)):
            yield LabelCounts(kind, item, day, account, several[0] if len(several) == 1 else _merge(several))


_Counters = tuple[dict[str, int], ...]  # the count of each label, for each dimension


class LabelCounts(NamedTuple):
    """The count of each label among the clicks of one item on one day, by dimension; those of places can be missing."""

    kind: str
    item: int
    day: int
    account: int
    counters: _Counters


def label_columns(label_counts: Iterable[LabelCounts]) -> dict[str, list[Any]]:
    """Return the columns of `click_labels`. Building rows would take twice as long."""
    kinds, items, days, dimensions, labels, accounts, clicks = columns = tuple[list[Any], ...]([] for _ in range(7))
    for kind, item, day, account, counters in label_counts:
        length_before = len(labels)
        for dimension, index in _indexes(len(counters)):
            counter = counters[index]
            present = sorted(filter(None, counter))
            dimensions += [dimension] * len(present)
            labels += present
            clicks += map(counter.__getitem__, present)
        added = len(labels) - length_before
        kinds += [kind] * added
        items += [item] * added
        days += [day] * added
        accounts += [account] * added
    return dict(zip(("kind", "item", "day", "dimension", "label", "account", "n"), columns, strict=True))


@cache
def _indexes(number: int) -> list[tuple[str, int]]:
    """Return the names and indexes of the first dimensions, in the order of their names."""
    return sorted((name, index) for index, name in enumerate(DIMENSIONS[:number]))


def _merge(several: Sequence[_Counters]) -> _Counters:
    merged: _Counters = tuple({} for _ in max(several, key=len))
    for counters in several:
        for into, counter in zip(merged, counters, strict=False):
            for label, count in counter.items():
                into[label] = into.get(label, 0) + count
    return merged

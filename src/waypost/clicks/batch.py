"""What a run of journal lines adds to the numbers: pure, no database."""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Literal, NamedTuple

from waypost.clicks import journal
from waypost.clicks.classify import agent, language, referrer

Sort = Literal["click", "bot", "preview", "late", "other"]
ALL_DAYS = -1
DAY = 86_400
QUARTER = 900
BESIDE = frozenset({"campaign"})
"""Kinds that an account's own sums leave out: who comes through a campaign is counted by the link he gets."""
_FIELDS = 10
_DIGITS = 15
_KIND = re.compile(rb"[a-z]{1,8}")
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
        noun = _noun(kind)
        ms = int(at)
        second = ms // 1000
        who = agent(agent_text.decode("utf-8", "replace"))
        came = referrer(referrer_text.decode("utf-8", "replace"))
        digest = secret(second // DAY).copy()
        digest.update(b"\t".join((address, agent_text, kind, item)))
        seen = Seen(
            self._country_of_code(code.decode("latin-1")) if code else self._country(address.decode("latin-1")),
            came.label,
            came.network,
            who.browser,
            who.os,
            who.device,
            language(languages.decode("latin-1")),
            _source(kind, flags),
        )
        sort = _sort(flags, who.kind)
        taken = journal.TAKEN in flags
        return Visit(int(account), noun, int(item), second, ms, sort, digest.digest(), seen, taken)


def begun(salt: bytes) -> hashlib.blake2b:
    """The hash that tells the visitors of a day apart, as far as it is the same for all of them."""
    return hashlib.blake2b(digest_size=12, key=salt)


@lru_cache(maxsize=64)
def _noun(kind: bytes) -> str:
    if not _KIND.fullmatch(kind):
        raise ValueError("not a line of ours")
    return kind.decode()


def _source(kind: bytes, flags: bytes) -> str:
    """The way that a visitor came; for a campaign, what of it he met: its list page, or the link he was sent to."""
    if kind == b"campaign":
        link = flags.partition(journal.ROTATED)[2]
        return label_of(int(link)) if link else "list"
    return "qr" if journal.SCAN in flags else "bio" if kind == b"block" else "link"


def label_of(link: int) -> str:
    """How a link is called among the sources of its campaign."""
    return f"link {link}"


def _sort(flags: bytes, kind: str) -> Sort:
    """What a visit counts as (decision 47): only a `click` is counted."""
    if kind == "bot":
        return "bot"
    if kind == "preview":
        return "preview"
    if not flags:
        return "click"
    if journal.HEAD in flags or journal.PREFETCH in flags:
        return "other"
    return "late" if journal.LATE in flags else "click"


class Sums:
    """What visits add up to, by thing and, for their account as a whole, once more."""

    def __init__(self, visits: Iterable[Visit], new: Mapping[int, set[bytes]]) -> None:
        """`new` has, by day, the digests that no earlier click of that day had."""
        self.firsts: list[bool] = []
        self.totals: dict[tuple[str, int], list[int]] = defaultdict(lambda: [0, 0, 0])
        self._times: dict[_Moment, list[int]] = defaultdict(lambda: [0, 0, 0, 0, 0, 0])
        seen: dict[_Moment, list[Seen]] = defaultdict(list)
        for visit in visits:
            self._add(visit, new, seen)
        # A column at a time: each label by itself would take twice as long to count.
        self._labels: dict[_Moment, _Counts] = {
            moment: tuple(map(Counter, zip(*told, strict=True))) for moment, told in seen.items()
        }

    def _add(self, visit: Visit, new: Mapping[int, set[bytes]], seen: dict["_Moment", list[Seen]]) -> None:
        account, kind, item, second, _, sort, digest, told, taken = visit
        row = self._times[kind, item, account, second - second % QUARTER]
        row[_COLUMN[sort]] += 1
        if sort != "click":
            self.firsts.append(False)
            return
        day = second // DAY
        unmet = new[day]
        if first := digest in unmet:
            unmet.discard(digest)
        self.firsts.append(first)
        row[1] += first
        seen[kind, item, account, day].append(told)
        total = self.totals[kind, item]
        total[0] += 1
        total[1] += first
        total[2] += not taken

    def times(self) -> list[tuple[str, int, int, int, int, int, int, int, int, int]]:
        """(kind, item, quarter, account, and the counts of `click_times`), in the order of the key."""
        found: dict[tuple[str, int, int, int], list[int]] = {}
        for (kind, item, account, quarter), row in self._times.items():
            found[kind, item, quarter, account] = row
            if kind in BESIDE:
                continue
            whole = found.setdefault(("account", account, quarter, account), [0] * len(row))
            whole[:] = map(sum, zip(whole, row, strict=True))
        return [(*key, *row) for key, row in sorted(found.items())]  # type: ignore[misc]  # six of them

    def labels(self) -> Iterator[tuple[str, int, int, str, str, int, int]]:
        """(kind, item, day, dimension, label, account, clicks), for the day and for all days, in the key's order."""
        parts: dict[tuple[str, int, int, int], list[_Counts]] = defaultdict(list)
        for (kind, item, account, day), counts in self._labels.items():
            for of, number in ((kind, item),) if kind in BESIDE else ((kind, item), ("account", account)):
                parts[of, number, day, account].append(counts)
                parts[of, number, ALL_DAYS, account].append(counts)
        for (*thing, account), found in sorted(parts.items(), key=itemgetter(0)):
            whole = found[0] if len(found) == 1 else _merged(found)
            for dimension, labels in _BY_NAME:
                counted = whole[labels]
                yield from ((*thing, dimension, label, account, counted[label]) for label in sorted(counted) if label)  # type: ignore[misc]  # three and four


_Moment = tuple[str, int, int, int]  # kind, item, account, and when


_Counts = tuple[dict[str, int], ...]  # for each dimension, how often each label came
_BY_NAME = sorted((name, place) for place, name in enumerate(Seen._fields))


def _no_labels() -> _Counts:
    return tuple({} for _ in Seen._fields)


def _merged(several: Sequence[_Counts]) -> _Counts:
    sums = _no_labels()
    for counts in several:
        for into, found in zip(sums, counts, strict=True):
            for label, count in found.items():
                into[label] = into.get(label, 0) + count
    return sums

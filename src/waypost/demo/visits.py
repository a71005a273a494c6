"""Plausible visits of the demo, written to the click journal, from which the ingester counts them like all others."""

import random
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from waypost.clicks import journal
from waypost.clicks.journal import Journal
from waypost.core import clock
from waypost.demo.content import Target

DAYS = 60
_DAY, _SEED = 86_400, 22
_VISITORS, _REPEATED = 9000, 0.2
# The share of each hour, UTC: little at night, most in the evening.
_HOURS = (3, 2, 1, 1, 1, 2, 5, 9, 12, 14, 15, 17, 19, 17, 15, 15, 16, 18, 21, 23, 22, 17, 11, 6)
_WEEKDAYS = (0.9, 0.85, 0.9, 1.0, 1.2, 1.35, 1.1)  # from Monday
_COUNTRIES = {
    b"PT": (30, b"pt-PT"), b"DE": (18, b"de-DE"), b"ES": (12, b"es-ES"), b"FR": (9, b"fr-FR"), b"GB": (9, b"en-GB"),
    b"US": (8, b"en-US"), b"NL": (5, b"nl-NL"), b"AT": (3, b"de-AT"), b"CH": (3, b"de-CH"), b"BR": (3, b"pt-BR"),
}  # fmt: skip
_MOZILLA = b"Mozilla/5.0 "
_AGENTS = {
    b"(iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148"
    b" Safari/604.1": 38,
    b"(Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36": 29,
    b"(Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36": 13,
    b"(Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15": 9,
    b"(Windows NT 10.0; Win64; x64; rv:142.0) Gecko/20100101 Firefox/142.0": 6,
    b"(Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36"
    b" Edg/140.0.0.0": 5,
}
_BOTS = (
    _MOZILLA + b"(compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    _MOZILLA + b"(compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)",
    b"Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)",
)
_REFERRERS = {
    b"": 34, b"https://www.instagram.com/": 27, b"https://www.google.com/": 15, b"https://www.facebook.com/": 8,
    b"https://shop.juniper.example/": 7, b"https://www.pinterest.com/": 5, b"https://www.linkedin.com/": 2,
    b"https://news.ycombinator.com/": 2,
}  # fmt: skip


def write(folder: Path, account: int, targets: Sequence[Target]) -> int:
    """Write the visits of the last 60 days to the journal in `folder`, oldest first. Return their number."""
    now = clock.now()
    draws = random.Random(_SEED)  # the same visits at every start
    lines = sorted(
        (at, number, line)
        for number, (at, line) in enumerate(
            visit for day in range(DAYS) for target in targets for visit in _visits(draws, account, target, now, day)
        )
        if at < now * 1000
    )
    with closing(Journal(folder)) as journal:
        journal.write(b"".join(line for _, _, line in lines))
    return len(lines)


def _visits(draws: random.Random, account: int, target: Target, now: int, day: int) -> Iterator[tuple[int, bytes]]:
    """Yield the time in milliseconds and the journal line of each visit of an item on a day; day 0 is the first."""
    midnight = now - now % _DAY - (DAYS - 1 - day) * _DAY
    weekday = _WEEKDAYS[(midnight // _DAY + 3) % 7]  # 1970 began on a Thursday
    growth = 0.36 + 0.42 * day / DAYS
    expected = target.visits_per_day * weekday * growth
    seen: list[_Visitor] = []
    for _ in range(round(draws.gauss(expected, expected**0.5))):
        second = draws.choices(range(24), _HOURS)[0] * 3600 + draws.random() * 3600
        at_ms = int((midnight + second) * 1000)
        comes_again = seen and draws.random() < _REPEATED
        visitor = draws.choice(seen) if comes_again else _visitor(draws, has_referrer=target.kind == "link")
        seen.append(visitor)
        flags = journal.SCAN if target.kind == "qr" else b""
        yield at_ms, _line(account, target.kind, target.item, at_ms, flags, visitor)
        if target.campaign and draws.random() < 0.4:  # the rest follows the link itself
            yield at_ms, _line(account, "campaign", target.campaign, at_ms, journal.rotated(target.item), visitor)


_Visitor = tuple[bytes, bytes, tuple[bytes, bytes, bytes]]


def _visitor(draws: random.Random, *, has_referrer: bool) -> _Visitor:
    """Return the address, the country and the headers of a visitor."""
    referrer = draws.choices(tuple(_REFERRERS), tuple(_REFERRERS.values()))[0] if has_referrer else b""
    if draws.random() < 0.06:
        return b"192.0.2.%d" % draws.randrange(1, 9), b"US", (draws.choice(_BOTS), b"", b"")
    number = draws.randrange(_VISITORS)
    person = random.Random(number)  # the same country and browser every time
    country = person.choices(tuple(_COUNTRIES), [share for share, _ in _COUNTRIES.values()])[0]
    agent = _MOZILLA + person.choices(tuple(_AGENTS), tuple(_AGENTS.values()))[0]
    return b"10.0.%d.%d" % divmod(number, 256), country, (agent, referrer, _COUNTRIES[country][1])


def _line(account: int, kind: str, item: int, at_ms: int, flags: bytes, visitor: _Visitor) -> bytes:
    address, country, headers = visitor
    return journal.format_line(journal.item_fields(account, kind, item), at_ms, flags, address, country, headers)

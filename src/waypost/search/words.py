"""Words of a search in the dashboard: texts, short URLs, hosts, and names of campaigns and channels (decision 93)."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from sqlalchemy import ColumnElement, Connection, FromClause, Table, and_, false, or_, select

from waypost.core.settings import Settings
from waypost.core.text_folding import folded, without_invisible
from waypost.core.uris import ascii_host
from waypost.db.schema import campaigns, channel_items, channels, domains
from waypost.urls import alias_namespace, alias_rules, hostnames

MAX_WORDS = 10
"""Further words of a search are ignored."""
_MIN_NAME = 2
_PUNCTUATION = ".,;:!?&|\"'()[]{}<>«»…" + "\u2039\u203a\u201e\u201c\u201d\u201a\u2018\u2019\u2013\u2014"
"""Signs around words, which are no part of them; quotation marks and dashes as escapes."""
_MAX_GROUPS = 10_000
_MAX_NAMED = 500


@dataclass(frozen=True)
class Word:
    """An item of the account matches a word by its text (folded), or if it is in one of the groups.

    The groups are the ids of campaigns and channels with the word in their name, the hosts that it begins, and the
    items with an alias on a host that a short URL begins.
    """

    account: int
    text: str
    campaigns: Sequence[int] = ()
    channels: Sequence[int] = ()
    hosts: Sequence[str] = ()
    short: tuple[str, str] | None = None

    def link_condition(self, link: FromClause) -> ColumnElement[bool]:
        """Return the condition that a row of `links`, or of an alias of it, matches."""
        c = link.c
        alternatives = [c.search.contains(self.text, autoescape=True)]
        if self.campaigns:
            alternatives.append(c.campaign.in_(self.campaigns))
        if self.channels:
            alternatives.append(c.id.in_(self.items_of_channels(channel_items.c.link)))
        if self.hosts:
            alternatives.append(c.host.in_(self.hosts))
        if self.short:
            alternatives.append(self.begins_short_url(c.host, c.alias))
        return or_(*alternatives)

    def items_of_channels(self, item: ColumnElement[int]) -> ColumnElement[int]:
        """Select the items in the channels; `item` is the column of channel_items with their ids."""
        c = channel_items.c
        query = select(item).where(c.channel.in_(self.channels), c.account == self.account, item.is_not(None))
        return query.scalar_subquery()

    def begins_short_url(
        self, host: ColumnElement[str], alias: ColumnElement[str], *, folder: str = ""
    ) -> ColumnElement[bool]:
        """Return the condition that the word begins an item's short URL, with its alias in a folder such as `qr/`."""
        if self.short is None or not self.short[1].startswith(folder):
            return false()
        return and_(host == self.short[0], alias.istartswith(self.short[1].removeprefix(folder), autoescape=True))


def parse(tx: Connection, account: int, q: str, *, settings: Settings) -> Sequence[Word]:
    """Return the words of a search, in any order, each once."""
    q = without_invisible(q)
    texts = list(dict.fromkeys(filter(None, (text.strip(_PUNCTUATION) for text in q.split()))))[:MAX_WORDS]
    texts = texts or q.split()[:1]
    if not texts:
        return ()
    campaign_names, channel_names = (_names(tx, table, account) for table in (campaigns, channels))
    hosts = _hosts(tx, account)
    return [_word(account, text, campaign_names, channel_names, hosts, settings) for text in texts]


def short_url(tx: Connection, account: int, q: str, *, settings: Settings) -> tuple[str, str] | None:
    """Return (host, alias) if a search is one short URL of the account, with or without its host; None otherwise."""
    q = without_invisible(q).strip().strip(_PUNCTUATION)
    if "/" not in q or any(letter.isspace() for letter in q):
        return None
    return _word(account, q, (), (), _hosts(tx, account), settings).short


def _hosts(tx: Connection, account: int) -> Sequence[str]:
    return tx.execute(select(domains.c.host).where(domains.c.account == account)).scalars().all()


def _names(tx: Connection, table: Table, account: int) -> Sequence[tuple[int, str]]:
    """Return (id, folded name) of the newest groups."""
    query = select(table.c.id, table.c.name).where(table.c.account == account).order_by(table.c.id.desc())
    return [(row[0], folded(row[1])) for row in tx.execute(query.limit(_MAX_GROUPS)).all()]


def _word(
    account: int,
    text: str,
    campaign_names: Sequence[tuple[int, str]],
    channel_names: Sequence[tuple[int, str]],
    hosts: Sequence[str],
    settings: Settings,
) -> Word:
    scheme, _, rest = text.rpartition("://")
    rest = rest if scheme.lower() in ("http", "https") else text
    name, slash, path = rest.partition("/")
    name = _without_port(name).lower()
    name = name if name.isascii() else ascii_host(name) or name
    other = hostnames.other_host(name)
    name = other if other in (*settings.own_hosts, *hosts) and name not in hosts else name
    alias = unquote(path.split("?")[0].split("#")[0]).removesuffix("+").removesuffix("/")
    own = name in settings.own_hosts or bool(slash and not name)
    short = None
    if slash and alias and (own or name in hosts):
        host = alias_namespace.OWN if own else name
        short = (host, alias_rules.normalize(alias, host))
    return Word(
        account,
        folded(rest.removesuffix("/") or text),
        campaigns=_named(folded(text), campaign_names),
        channels=_named(folded(text), channel_names),
        hosts=() if short else [host for host in hosts if _begins(name, host)] + ([alias_namespace.OWN] if own else []),
        short=short,
    )


def _named(text: str, names: Sequence[tuple[int, str]]) -> Sequence[int]:
    return [group for group, name in names if text in name][:_MAX_NAMED] if len(text) >= _MIN_NAME else ()


def _begins(text: str, host: str) -> bool:
    """Return whether a text with a dot is the beginning of a host: a word alone is more often part of a title."""
    return text == host or ("." in text and host.startswith(text))


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdecimal() else host

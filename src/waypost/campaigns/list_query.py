"""What stands on the list page of a campaign: its usable links, newest first, by page and by search."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from waypost.campaigns.rotator_candidates import usable
from waypost.db.schema import accounts, campaigns, domains, links
from waypost.urls.validation import host_of

PER_PAGE = 25
# What makes writing turn around where its letters would not: of no use in a title but to make .exe look like .png.
_TURNS = dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)))


@dataclass(frozen=True)
class ListPage:
    """A campaign as its list page shows it."""

    id: int
    account: int
    username: str
    name: str
    slug: str | None
    public: bool


@dataclass(frozen=True)
class Shown:
    """A link on the page. `scheme` is that of its branded domain; `site` is where it leads, without `www.`."""

    host: str
    scheme: str | None
    alias: str
    title: str
    site: str


@dataclass(frozen=True)
class Row:
    """One page of them; `result` counts all that match."""

    items: Sequence[Shown]
    result: int
    page: int

    @property
    def pages(self) -> int:
        """How many pages there are: at least one."""
        return max(1, -(-self.result // PER_PAGE))


def find_shelf(tx: Connection, campaign: int) -> ListPage | None:
    """The campaign with that id, whoever asks."""
    c = campaigns.c
    shown = (c.id, c.account, accounts.c.username, c.name, c.slug, c.public)
    row = tx.execute(select(*shown).join(accounts, accounts.c.id == c.account).where(c.id == campaign)).first()
    return ListPage(*row) if row else None


def page(tx: Connection, campaign: int, *, number: int, q: str, now: int) -> Row:
    """A page of what is on the shelf; `q` is looked for in what the page shows: titles, sites and aliases."""
    c = links.c
    start = (number - 1) * PER_PAGE
    shown = usable(select(c.host, domains.c.scheme, c.alias, c.title, c.url), campaign, now).order_by(c.id.desc())
    if q:
        wanted = q.casefold()
        # The column has words that are nobody's business, such as descriptions: it only makes the choice smaller.
        near = shown.where(c.search.contains(wanted, autoescape=True))
        found = [one for one in map(_shown, tx.execute(near)) if _has(one, wanted)]
        return Row(found[start : start + PER_PAGE], len(found), number)
    result = tx.execute(usable(select(func.count(c.id)), campaign, now)).scalar_one()
    items = tx.execute(shown.limit(PER_PAGE).offset(start)) if start < result else ()
    return Row([_shown(row) for row in items], int(result), number)


def _shown(row: tuple[str, str | None, str, str, str]) -> Shown:
    host, scheme, alias, title, url = row
    site = site_of(url)
    return Shown(host, scheme, alias, straight(title).strip() or site, site)


def straight(text: str) -> str:
    """A text without what makes writing turn around."""
    return text.translate(_TURNS)


def site_of(url: str) -> str:
    """The host of a target for people; of an app's address its scheme."""
    try:
        host = host_of(url)
    except ValueError:
        host = None
    return (host or url.partition(":")[0]).removeprefix("www.")


def _has(one: Shown, wanted: str) -> bool:
    return any(wanted in text.casefold() for text in (one.title, one.site, one.alias))

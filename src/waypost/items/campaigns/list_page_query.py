"""Queries of a campaign's list page: its usable links, newest first, paged and searched."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from waypost.core.text_folding import folded
from waypost.db.schema import accounts, campaigns, domains, links
from waypost.items.campaigns.rotator_candidates import usable
from waypost.urls.validation import host_of

PER_PAGE = 25
# Bidirectional control characters: in a title, they can make "gnp.exe" look like "exe.png".
_BIDI_CONTROLS = dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)))


@dataclass(frozen=True)
class PublicCampaign:
    """A campaign as its list page needs it."""

    id: int
    account: int
    username: str
    name: str
    slug: str | None
    public: bool
    indexable: bool


@dataclass(frozen=True)
class ListedLink:
    """A link in the list. `scheme` is that of its branded domain; `site` is its destination's host without `www.`."""

    host: str
    scheme: str | None
    alias: str
    title: str
    site: str


@dataclass(frozen=True)
class LinkPage:
    """One page of links; `result` is the number of all that match."""

    items: Sequence[ListedLink]
    result: int
    number: int

    @property
    def pages(self) -> int:
        """Number of pages, at least one."""
        return max(1, -(-self.result // PER_PAGE))


def find_campaign(tx: Connection, campaign: int) -> PublicCampaign | None:
    """Return a campaign of any account."""
    c = campaigns.c
    columns = (c.id, c.account, accounts.c.username, c.name, c.slug, c.public, c.indexable)
    row = tx.execute(select(*columns).join(accounts, accounts.c.id == c.account).where(c.id == campaign)).first()
    return PublicCampaign(*row) if row else None


def list_links(tx: Connection, campaign: PublicCampaign, *, number: int, q: str, now: int) -> LinkPage:
    """Return a page of usable links. `q` searches what the page shows: titles, sites and aliases."""
    c = links.c
    start = (number - 1) * PER_PAGE
    key = (campaign.account, campaign.id, now)
    query = usable(select(c.host, domains.c.scheme, c.alias, c.title, c.url), *key).order_by(c.id.desc())
    if q:
        term = folded(q)
        # The search column also contains private text such as descriptions, so it only narrows the candidates.
        rows = tx.execute(query.where(c.search.contains(term, autoescape=True)))
        matches = [link for link in map(_listed_link, rows) if _matches(link, term)]
        return LinkPage(matches[start : start + PER_PAGE], len(matches), number)
    total = tx.execute(usable(select(func.count(c.id)), *key)).scalar_one()
    rows_of_page = tx.execute(query.limit(PER_PAGE).offset(start)) if start < total else ()
    return LinkPage([_listed_link(row) for row in rows_of_page], int(total), number)


def _listed_link(row: tuple[str, str | None, str, str, str]) -> ListedLink:
    host, scheme, alias, title, url = row
    site = site_of(url)
    return ListedLink(host, scheme, alias, without_bidi_controls(title).strip() or site, site)


def without_bidi_controls(text: str) -> str:
    """Remove the characters that change the direction of text."""
    return text.translate(_BIDI_CONTROLS)


def site_of(url: str) -> str:
    """Return the host of a destination without `www.`; the scheme of an app link."""
    try:
        host = host_of(url)
    except ValueError:
        host = None
    return (host or url.partition(":")[0]).removeprefix("www.")


def _matches(link: ListedLink, term: str) -> bool:
    return any(term in folded(text) for text in (link.title, link.site, link.alias))

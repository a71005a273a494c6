"""The nouns: what each kind of item is called, and where its names are. All modules share this description.

Four vocabularies meet here. A kind is stored in rows of users and never changes; the API's names are its contract;
labels are texts for people, in English; tables change with migrations only. The program uses kinds as keys.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sqlalchemy import Table

from waypost.db.schema.accounts import trash
from waypost.db.schema.emails import email_reports
from waypost.db.schema.resources import (
    bios,
    campaigns,
    channels,
    domains,
    files,
    links,
    overlays,
    pixels,
    qrs,
    shares,
    splashes,
    utm_templates,
)
from waypost.db.schema.webhooks import webhook_endpoints

OWN = ""
"""The host of aliases on the service's own host."""
ROTATORS = "/r"
"""The host of the slugs of campaigns."""


@dataclass(frozen=True, kw_only=True)
class Alias:
    """Where the aliases of a kind are: their column, and their host, which is None for that in the column `host`.

    `folders` are those of its short URLs, such as `qr/`; "" is the top.
    """

    column: str = "alias"
    host: str | None = OWN
    folders: tuple[str, ...] = ("",)


@dataclass(frozen=True, kw_only=True)
class Noun:
    """A kind of item. The first of the columns `names` that is not empty is the name of an item, everywhere.

    `api` is its path segment in the API, `collection` the field of the API's list, `dashboard` its folder below
    /dashboard and its name in `find`, `icon` its name in web/icons.json, `keywords` those of the palette, `sheet` its
    name in an archive, `channel_item` its column in channel_items. `searched` are further columns that a search reads.
    `totals` are counters of clicks, of unique clicks, and of those that its column `limit` limits; `imported` are other
    counters, which an archive sets. `same` are the columns that make two items equal.
    """

    kind: str
    table: Table
    api: str
    collection: str
    dashboard: str
    icon: str
    label: str
    labels: str
    new_label: str
    keywords: str
    sheet: str
    names: tuple[str, ...] = ("name",)
    searched: tuple[str, ...] = ()
    alias: Alias | None = None
    totals: tuple[str, ...] = ()
    limit: str = ""
    imported: tuple[str, ...] = ()
    same: tuple[str, ...] = ()
    channel_item: str = ""

    @property
    def singular(self) -> str:
        """The name of one item inside a sentence: `QR code`, `bio page`."""
        return inside_sentence(self.label)

    @property
    def plural(self) -> str:
        """The name of many items inside a sentence."""
        return inside_sentence(self.labels)

    @property
    def path(self) -> str:
        """The path of its list in the dashboard."""
        return f"/dashboard/{self.dashboard}"

    @property
    def is_named_once(self) -> bool:
        """True if an account has only one item with a name."""
        return "name_key" in self.table.c


def inside_sentence(label: str) -> str:
    """Return a label as it is written inside a sentence: acronyms keep their capitals."""
    return label if label[1:2].isupper() else label[:1].lower() + label[1:]


def _by_kind(nouns: Iterable[Noun]) -> Mapping[str, Noun]:
    return {noun.kind: noun for noun in nouns}


NOUNS: Mapping[str, Noun] = _by_kind(
    (
        Noun(
            kind="link",
            table=links,
            api="url",
            collection="urls",
            dashboard="links",
            icon="link",
            label="Link",
            labels="Links",
            new_label="New link",
            keywords="create shorten url",
            sheet="links",
            names=("title", "alias"),
            alias=Alias(host=None),
            totals=("clicks", "uniqueclicks", "taken"),
            limit="clicklimit",
            imported=("importedclicks",),
            channel_item="link",
        ),
        Noun(
            kind="file",
            table=files,
            api="file",
            collection="list",
            dashboard="files",
            icon="folder",
            label="File",
            labels="Files",
            new_label="Upload a file",
            keywords="new create",
            sheet="files",
            names=("name", "filename"),
            alias=Alias(host=None),
            totals=("downloads", "uniquedownloads", "taken"),
            limit="maxdownloads",
        ),
        Noun(
            kind="qr",
            table=qrs,
            api="qr",
            collection="qrs",
            dashboard="qr",
            icon="qr-code",
            label="QR code",
            labels="QR codes",
            new_label="New QR code",
            keywords="create",
            sheet="qr_codes",
            names=("name", "alias"),
            alias=Alias(folders=("", "qr/")),
            totals=("scans", "uniquescans"),
            channel_item="qr",
        ),
        Noun(
            kind="bio",
            table=bios,
            api="bio",
            collection="bios",
            dashboard="bios",
            icon="device-phone-mobile",
            label="Bio page",
            labels="Bio pages",
            new_label="New bio page",
            keywords="create",
            sheet="bio_pages",
            names=("name", "alias"),
            searched=("title",),
            alias=Alias(),
            totals=("clicks", "uniqueclicks"),
            channel_item="bio",
        ),
        Noun(
            kind="campaign",
            table=campaigns,
            api="campaign",
            collection="campaigns",
            dashboard="campaigns",
            icon="megaphone",
            label="Campaign",
            labels="Campaigns",
            new_label="New campaign",
            keywords="create",
            sheet="campaigns",
            alias=Alias(column="slug", host=ROTATORS, folders=("r/",)),
            totals=("views",),
            same=("name",),
        ),
        Noun(
            kind="channel",
            table=channels,
            api="channel",
            collection="channels",
            dashboard="channels",
            icon="hashtag",
            label="Channel",
            labels="Channels",
            new_label="New channel",
            keywords="create tag",
            sheet="channels",
            same=("name",),
        ),
        Noun(
            kind="splash",
            table=splashes,
            api="splash",
            collection="splash",
            dashboard="splash",
            icon="window",
            label="Splash page",
            labels="Splash pages",
            new_label="New splash page",
            keywords="create",
            sheet="splash_pages",
            same=("name", "title", "message", "counter", "skip", "link", "banner", "logo"),
        ),
        Noun(
            kind="overlay",
            table=overlays,
            api="overlay",
            collection="cta",
            dashboard="overlays",
            icon="chat-bubble-left-right",
            label="Overlay",
            labels="Overlays",
            new_label="New overlay",
            keywords="create",
            sheet="overlays",
            same=(
                *("name", "type", "message", "label", "link", "position", "delay", "button", "code", "image"),
                "webhook",
            ),
        ),
        Noun(
            kind="pixel",
            table=pixels,
            api="pixel",
            collection="pixels",
            dashboard="pixels",
            icon="code-bracket",
            label="Pixel",
            labels="Pixels",
            new_label="New pixel",
            keywords="create tracking",
            sheet="pixels",
            same=("type", "name", "tag"),
        ),
        Noun(
            kind="utm",
            table=utm_templates,
            api="utm",
            collection="utms",
            dashboard="utm",
            icon="tag",
            label="UTM template",
            labels="UTM templates",
            new_label="New UTM template",
            keywords="create parameters analytics",
            sheet="utm_templates",
            same=("name",),
        ),
        Noun(
            kind="domain",
            table=domains,
            api="domain",
            collection="domains",
            dashboard="domains",
            icon="globe-alt",
            label="Domain",
            labels="Domains",
            new_label="Add a domain",
            keywords="new create branded",
            sheet="domains",
            names=("host",),
            same=("host",),
        ),
    )
)
"""By kind, in the order of the dashboard's menu. Links come first, because they refer to most of the others."""

OTHER_ROWS: Mapping[str, str] = {
    "accounts": "account",
    shares.name: "share link",
    trash.name: "item in the trash",
    webhook_endpoints.name: "webhook",
    email_reports.name: "report",
}
"""The names of rows of other tables, inside a sentence."""


def referred_first() -> Mapping[str, Noun]:
    """Return the nouns by kind, those that links refer to first."""
    nouns = NOUNS.values()
    foundations = [noun for noun in nouns if not has_page(noun)]
    return _by_kind([*reversed(foundations), *(noun for noun in nouns if has_page(noun))])


def has_page(noun: Noun) -> bool:
    """Return whether each item answers visitors at an alias among those of all other kinds."""
    return noun.alias is not None and noun.alias.host != ROTATORS

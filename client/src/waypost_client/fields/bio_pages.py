# Written by `make docs`. Do not edit: change the code and run it again.
"""Optional fields of requests: bio pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypedDict

if TYPE_CHECKING:
    from typing_extensions import Required


class Design(TypedDict, total=False):
    """Own colors and background. Text must have a contrast of at least 4.5:1."""

    background: Required[str]
    """Color of the background."""
    gradient: str | Literal[""]
    """Color of the background at the bottom; empty for no gradient."""
    picture: str
    """Picture behind the color, which is as transparent as the text allows. A PNG, JPEG or WebP: its URL, a
    data: URL, or the short URL or alias of a file of yours. The page gets a small copy of it. The URL of a
    picture that the page has keeps it.
    """
    text: str | Literal[""]
    """Color of text on the background; by default black or white."""
    button: str
    """Color of buttons and cards."""
    buttontext: str | Literal[""]
    """Color of text on them; by default black or white."""


class LinkBlock(TypedDict, total=False):
    """A button."""

    hidden: bool
    """True to hide the block from visitors. It keeps its clicks; its short URL answers 404."""
    showfrom: str
    """First day or second in UTC in which visitors see the block."""
    showuntil: str
    """Last day or second in UTC in which visitors see it."""
    type: Required[Literal["link"]]
    """Kind of the block."""
    title: Required[str]
    """Text of the button."""
    url: Required[str]
    """Destination of the block."""
    thumbnail: str
    """Picture on the button. A PNG, JPEG or WebP: its URL, a data: URL, or the short URL or alias of a file of
    yours. The page gets a small copy of it. The URL of a picture that the page has keeps it.
    """


class TextBlock(TypedDict, total=False):
    """A heading or a text."""

    hidden: bool
    """True to hide the block from visitors. It keeps its clicks; its short URL answers 404."""
    showfrom: str
    """First day or second in UTC in which visitors see the block."""
    showuntil: str
    """Last day or second in UTC in which visitors see it."""
    type: Required[Literal["heading", "text"]]
    """Kind of the block."""
    text: Required[str]
    """The text."""


class ImageBlock(TypedDict, total=False):
    """A picture."""

    hidden: bool
    """True to hide the block from visitors. It keeps its clicks; its short URL answers 404."""
    showfrom: str
    """First day or second in UTC in which visitors see the block."""
    showuntil: str
    """Last day or second in UTC in which visitors see it."""
    type: Required[Literal["image"]]
    """Kind of the block."""
    picture: str
    """Picture of the page, sent like `thumbnail`."""
    image: str
    """URL of a picture on another server, if there is no `picture`."""
    link: str
    """Destination of the picture."""
    alt: str
    """Alternative text of the picture."""


class SocialBlock(TypedDict, total=False):
    """A profile in a social network."""

    hidden: bool
    """True to hide the block from visitors. It keeps its clicks; its short URL answers 404."""
    showfrom: str
    """First day or second in UTC in which visitors see the block."""
    showuntil: str
    """Last day or second in UTC in which visitors see it."""
    type: Required[Literal["social"]]
    """Kind of the block."""
    network: Required[str]
    """Name of the network; known ones get an icon."""
    url: Required[str]
    """Destination of the block."""


class EmbedBlock(TypedDict, total=False):
    """A video, track or playlist, whose player is loaded when the visitor presses play."""

    hidden: bool
    """True to hide the block from visitors. It keeps its clicks; its short URL answers 404."""
    showfrom: str
    """First day or second in UTC in which visitors see the block."""
    showuntil: str
    """Last day or second in UTC in which visitors see it."""
    type: Required[Literal["embed"]]
    """Kind of the block."""
    url: Required[str]
    """Its page at YouTube, Vimeo, Dailymotion, Spotify, Apple Music, SoundCloud."""
    title: str
    """Title; by default the service."""


class FormBlock(TypedDict, total=False):
    """A form for visitors: that of an overlay, which also keeps the responses."""

    hidden: bool
    """True to hide the block from visitors. It keeps its clicks; its short URL answers 404."""
    showfrom: str
    """First day or second in UTC in which visitors see the block."""
    showuntil: str
    """Last day or second in UTC in which visitors see it."""
    type: Required[Literal["form"]]
    """Kind of the block."""
    overlay: Required[int]
    """Id of an overlay of type `contact` or `newsletter` of yours."""


class CardBlock(TypedDict, total=False):
    """A contact card."""

    hidden: bool
    """True to hide the block from visitors. It keeps its clicks; its short URL answers 404."""
    showfrom: str
    """First day or second in UTC in which visitors see the block."""
    showuntil: str
    """Last day or second in UTC in which visitors see it."""
    type: Required[Literal["vcard"]]
    """Kind of the block."""
    fname: str
    """First name."""
    lname: str
    """Last name."""
    nickname: str
    """Nickname."""
    org: str
    """Company."""
    title: str
    """Position in the company."""
    phone: str
    """Telephone number."""
    cell: str
    """Mobile number."""
    homephone: str
    """Telephone number at home."""
    fax: str
    """Fax number."""
    email: str
    """E-mail address."""
    site: str
    """Website."""
    street: str
    """Street and number."""
    city: str
    """City."""
    state: str
    """State or region."""
    zip: str
    """Postal code."""
    country: str
    """Country."""
    birthday: str
    """Birthday, `YYYY-MM-DD`."""
    note: str
    """Note."""


class NewBio(TypedDict, total=False):
    """A new bio page."""

    alias: str | None
    """Alias instead of a random one, unique on its host."""
    title: str | None
    """Heading of the page; the name by default."""
    description: str | None
    """Text below the heading."""
    theme: str | None
    """default, ocean, forest, sunset, paper or mono. Follows the system setting of the visitor unless it ends
    with -light or -dark. Any other value means default.
    """
    avatar: str | None
    """Picture above the heading. A PNG, JPEG or WebP: its URL, a data: URL, or the short URL or alias of a file
    of yours. The page gets a small copy of it. The URL of a picture that the page has keeps it.
    """
    design: Design | None
    """Own colors and background instead of those of the theme."""
    blocks: Sequence[LinkBlock | TextBlock | ImageBlock | SocialBlock | EmbedBlock | FormBlock | CardBlock] | None
    """Blocks of the page, from top to bottom: link, heading, text, image, social, embed, form or vcard."""
    sensitive: bool | None
    """True to warn visitors before they see the page."""


class BioChange(TypedDict, total=False):
    """The fields of a bio page. Absent ones keep their values."""

    name: str
    """Name for yourself."""
    alias: str | None
    """Alias instead of a random one, unique on its host."""
    title: str | None
    """Heading of the page; the name by default."""
    description: str | None
    """Text below the heading."""
    theme: str | None
    """default, ocean, forest, sunset, paper or mono. Follows the system setting of the visitor unless it ends
    with -light or -dark. Any other value means default.
    """
    avatar: str | None
    """Picture above the heading. A PNG, JPEG or WebP: its URL, a data: URL, or the short URL or alias of a file
    of yours. The page gets a small copy of it. The URL of a picture that the page has keeps it.
    """
    design: Design | None
    """Own colors and background instead of those of the theme."""
    blocks: Sequence[LinkBlock | TextBlock | ImageBlock | SocialBlock | EmbedBlock | FormBlock | CardBlock] | None
    """Blocks of the page, from top to bottom: link, heading, text, image, social, embed, form or vcard."""
    sensitive: bool | None
    """True to warn visitors before they see the page."""

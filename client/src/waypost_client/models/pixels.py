# Written by `make docs`. Do not edit: change the code and run it again.
"""Records of responses: pixels."""

from __future__ import annotations

from dataclasses import dataclass

from waypost_client.records import Record


@dataclass(frozen=True, kw_only=True)
class Pixel(Record):
    """A tracking pixel."""

    id: int = 0
    """Id of the item in paths and in other requests."""
    type: str = ""
    """Provider: `tagmanagerpixel` (or `gtmpixel`), `analyticspixel` (or `gapixel`), `socialapixel` (or
    `fbpixel`), `searchadspixel` (or `adwordspixel`), `professionalpixel` (or `linkedinpixel`),
    `microblogpixel` (or `twitterpixel`), `retargetpixel` (or `adrollpixel`), `qapixel` (or `quorapixel`),
    `boardpixel` (or `pinterest`), `searchenginepixel` (or `bing`), `ephemeralpixel` (or `snapchat`),
    `forumpixel` (or `reddit`), `shortvideopixel` (or `tiktok`).
    """
    name: str = ""
    """Name for yourself."""
    tag: str = ""
    """Id at the provider: 1 to 64 characters of `A-Z a-z 0-9 _ . / -`."""
    date: str = ""
    """Time of creation, in UTC."""

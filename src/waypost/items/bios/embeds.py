"""Players of other services: which URLs have one, and its address. Pages load it when the visitor presses play."""

import re
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import quote

from waypost.core.errors import Problem, invalid


class Player(NamedTuple):
    """A player. `origin` is that of `url`; `shape` is `video` (16:9), `list` or `bar`."""

    service: str
    url: str
    origin: str
    shape: str


class _Service(NamedTuple):
    name: str
    pattern: re.Pattern[str]
    origin: str
    shape: str
    address: Callable[[re.Match[str], str], str]
    """Returns path and query of the player, from the match and the whole URL."""


_REST = r"(?:[/?#&].*)?\Z"
_YOUTUBE = re.compile(
    r"https?://(?:(?:www\.|m\.|music\.)?youtube\.com/(?:watch\?(?:[^#]*&)?v=|shorts/|live/|embed/)|youtu\.be/)"
    r"([A-Za-z0-9_-]{6,20})" + _REST,
    re.IGNORECASE,
)
_VIMEO = re.compile(r"https?://(?:www\.)?vimeo\.com/([0-9]{4,12})(?:/([0-9a-f]{6,20}))?" + _REST, re.IGNORECASE)
_DAILYMOTION = re.compile(r"https?://(?:www\.)?dailymotion\.com/video/([a-z0-9]{5,20})" + _REST, re.IGNORECASE)
_SPOTIFY = re.compile(
    r"https?://open\.spotify\.com/(?:intl-[a-z-]{2,7}/)?(track|album|artist|playlist|episode|show)/"
    r"([A-Za-z0-9]{10,40})" + _REST,
    re.IGNORECASE,
)
_APPLE = re.compile(
    r"https?://music\.apple\.com(/[a-z]{2}/(?:album|playlist|song)/[^?#\s]{3,200}(?:\?i=[0-9]{1,15})?)" + _REST,
    re.IGNORECASE,
)
_SOUNDCLOUD = re.compile(
    r"https?://(?:www\.|m\.)?soundcloud\.com/[A-Za-z0-9_-]{1,100}/[A-Za-z0-9_/-]{1,200}" + _REST, re.IGNORECASE
)
_SERVICES = (
    _Service(
        "YouTube",
        _YOUTUBE,
        "https://www.youtube-nocookie.com",
        "video",
        lambda match, _: f"/embed/{match[1]}?autoplay=1",
    ),
    _Service(
        "Vimeo",
        _VIMEO,
        "https://player.vimeo.com",
        "video",
        lambda match, _: f"/video/{match[1]}?autoplay=1&dnt=1" + (f"&h={match[2]}" if match[2] else ""),
    ),
    _Service(
        "Dailymotion",
        _DAILYMOTION,
        "https://geo.dailymotion.com",
        "video",
        lambda match, _: f"/player.html?video={match[1]}",
    ),
    _Service(
        "Spotify",
        _SPOTIFY,
        "https://open.spotify.com",
        "list",
        lambda match, _: f"/embed/{match[1].lower()}/{match[2]}",
    ),
    _Service(
        "Apple Music",
        _APPLE,
        "https://embed.music.apple.com",
        "list",
        lambda match, _: quote(match[1], safe="/%?=.-_~"),
    ),
    _Service(
        "SoundCloud",
        _SOUNDCLOUD,
        "https://w.soundcloud.com",
        "bar",
        lambda _, url: f"/player/?url={quote(url, safe='')}&auto_play=true",
    ),
)
SERVICE_NAMES = tuple(service.name for service in _SERVICES)


def find_player(url: str) -> Player | None:
    """Return the player of a URL; None for a URL without one."""
    for service in _SERVICES:
        if match := service.pattern.match(url):
            return Player(service.name, service.origin + service.address(match, url), service.origin, service.shape)
    return None


def without_player() -> Problem:
    """Return the problem of a URL without a player."""
    message = (
        "blocks must be the URL of a video, track or list at YouTube, Vimeo, Dailymotion, Spotify, Apple Music or"
        " SoundCloud."
    )
    return invalid("blocks", message)

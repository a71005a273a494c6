"""URLs of profiles in social networks, built from the names that people type for them."""

import re
from dataclasses import dataclass
from urllib.parse import quote

from waypost.urls.validation import complete_url

# SVG paths in a square of 24 by 24, drawn with a stroke width of 2.
_ICONS = {
    "camera": "M4 8h3l2-3h6l2 3h3v11H4zM12 10.5a3 3 0 1 0 0 6 3 3 0 0 0 0-6",
    "film": "M4 5h16v14H4zM10 9l5 3-5 3z",
    "note": "M9 18V5l10-2v13M6 15a3 3 0 1 0 0 6 3 3 0 0 0 0-6M16 13a3 3 0 1 0 0 6 3 3 0 0 0 0-6",
    "code": "M8 6l-6 6 6 6M16 6l6 6-6 6M14 4l-4 16",
    "chat": "M4 5h16v11H11l-5 4v-4H4z",
    "mail": "M3 6h18v13H3zM3 7l9 7 9-7",
    "phone": "M6 3h4l2 5-3 2a12 12 0 0 0 5 5l2-3 5 2v4c0 2-2 3-3 3C10 20 4 13 3 6c0-2 1-3 3-3z",
    "people": "M9 4a3 3 0 1 0 0 7 3 3 0 0 0 0-7M2 20c0-4 3-6 7-6s7 2 7 6M16 4a3 3 0 0 1 0 7M18 14c3 1 4 3 4 6",
    "cup": "M5 8h12v7a5 5 0 0 1-5 5h-2a5 5 0 0 1-5-5zM17 10h2a2 2 0 0 1 0 5h-2M9 2v3M13 2v3",
    "globe": "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M3 12h18M12 3c3 3 3 15 0 18-3-3-3-15 0-18",
    "pen": "M4 20l1-5L16 4l4 4L9 19zM14 6l4 4",
}
_NETWORKS = {
    "camera": "Instagram Pinterest Flickr Snapchat Pixelfed Unsplash 500px VSCO",
    "film": "YouTube Vimeo Twitch TikTok PeerTube Dailymotion Kick Rumble",
    "note": "Spotify SoundCloud Bandcamp Deezer Tidal Mixcloud Podcast",
    "code": "GitHub GitLab Codeberg Bitbucket CodePen npm",
    "chat": "Mastodon Bluesky X Twitter Threads Discord Telegram WhatsApp Signal Matrix Reddit Slack Messenger LINE",
    "mail": "Email Mail E-Mail Newsletter Substack",
    "phone": "Phone Telephone SMS",
    "people": "Facebook LinkedIn XING Meetup VK Nextdoor",
    "cup": "Patreon Ko-fi Liberapay PayPal",
    "globe": "Website Web Homepage",
    "pen": "Blog Medium WordPress Tumblr Ghost Behance Dribbble Goodreads",
}
_BY_NAME = {name.casefold(): (name, icon) for icon, names in _NETWORKS.items() for name in names.split()}


@dataclass(frozen=True)
class Network:
    """A network: its name in its own spelling, and the SVG path of its icon."""

    name: str
    path: str


def find_network(name: str) -> Network:
    """Return a network by name, ignoring case. An unknown one keeps its name and gets a globe."""
    name, icon = _BY_NAME.get(name.strip().casefold(), (name.strip(), "globe"))
    return Network(name, _ICONS[icon])


# By the name of the network in lower case; `{}` is the user's name.
_URLS = {
    "500px": "https://500px.com/p/{}",
    "bandcamp": "https://{}.bandcamp.com/",
    "behance": "https://www.behance.net/{}",
    "bitbucket": "https://bitbucket.org/{}",
    "bluesky": "https://bsky.app/profile/{}",
    "codeberg": "https://codeberg.org/{}",
    "codepen": "https://codepen.io/{}",
    "dailymotion": "https://www.dailymotion.com/{}",
    "dribbble": "https://dribbble.com/{}",
    "facebook": "https://www.facebook.com/{}",
    "flickr": "https://www.flickr.com/people/{}",
    "github": "https://github.com/{}",
    "gitlab": "https://gitlab.com/{}",
    "instagram": "https://www.instagram.com/{}",
    "kick": "https://kick.com/{}",
    "ko-fi": "https://ko-fi.com/{}",
    "liberapay": "https://liberapay.com/{}",
    "linkedin": "https://www.linkedin.com/in/{}",
    "medium": "https://medium.com/@{}",
    "mixcloud": "https://www.mixcloud.com/{}",
    "npm": "https://www.npmjs.com/~{}",
    "patreon": "https://www.patreon.com/{}",
    "paypal": "https://paypal.me/{}",
    "pinterest": "https://www.pinterest.com/{}",
    "reddit": "https://www.reddit.com/user/{}",
    "rumble": "https://rumble.com/c/{}",
    "snapchat": "https://www.snapchat.com/add/{}",
    "soundcloud": "https://soundcloud.com/{}",
    "substack": "https://{}.substack.com/",
    "telegram": "https://t.me/{}",
    "threads": "https://www.threads.net/@{}",
    "tiktok": "https://www.tiktok.com/@{}",
    "tumblr": "https://{}.tumblr.com/",
    "twitch": "https://www.twitch.tv/{}",
    "twitter": "https://x.com/{}",
    "unsplash": "https://unsplash.com/@{}",
    "vimeo": "https://vimeo.com/{}",
    "vk": "https://vk.com/{}",
    "vsco": "https://vsco.co/{}",
    "x": "https://x.com/{}",
    "xing": "https://www.xing.com/profile/{}",
    "youtube": "https://www.youtube.com/@{}",
}
# Networks whose names of users can contain a dot. At others, a bare text with a dot is the host of a URL.
_WITH_DOTS = frozenset({"bluesky", "facebook", "instagram", "medium", "snapchat", "threads", "tiktok", "youtube"})
_HOSTS_OF_USERS = frozenset({"bandcamp", "substack", "tumblr"})
_FEDERATED = {"mastodon": "https://{}/@{}", "pixelfed": "https://{}/@{}", "peertube": "https://{}/a/{}"}
_OTHER_HOSTS = (".threads.com", ".fb.com", ".youtu.be")
_DEFAULT_BLUESKY_HOST = ".bsky.social"
_NAME = re.compile(r"\w(?:[\w.-]{0,98}[\w-])?\Z")
_HOST_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\Z")
_FEDERATED_NAME = re.compile(r"@?([A-Za-z0-9_.-]{1,98})@((?:[a-z0-9-]{1,63}\.)+[a-z][a-z0-9-]{1,62})\Z", re.IGNORECASE)


def profile_url(network: str, text: str) -> str:
    """Return the URL of a profile that a person typed: a URL without `https://`, `@name`, or a bare name.

    A name becomes a URL if the network is known; a federated one needs `@name@server`. Other text is returned trimmed,
    so that the validation rejects it (decision 94).
    """
    text, network = text.strip(), network.strip().casefold()
    if network in _FEDERATED:
        match = _FEDERATED_NAME.match(text)
        return _FEDERATED[network].format(match[2].lower(), match[1]) if match else complete_url(text)
    name, pattern = text.removeprefix("@"), _HOST_NAME if network in _HOSTS_OF_USERS else _NAME
    if network not in _URLS or not pattern.match(name) or _is_host(network, text):
        return complete_url(text)
    if network == "bluesky" and "." not in name:
        name += _DEFAULT_BLUESKY_HOST
    return _URLS[network].format(quote(name))


def _is_host(network: str, text: str) -> bool:
    """Return whether a bare text is a host, and no name of a user."""
    if text.startswith("@") or "." not in text:
        return False
    own = _URLS[network].partition("://")[2].partition("/")[0].removeprefix("www.")
    return network not in _WITH_DOTS or f".{text.casefold()}".endswith((f".{own}", *_OTHER_HOSTS))

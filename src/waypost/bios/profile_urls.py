"""URLs of profiles in social networks, built from the names that people type for them."""

import re
from urllib.parse import quote

from waypost.urls.typed_urls import complete_url

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

"""Social networks by name, with a generic icon for each kind. The icons are not the networks' logos."""

from dataclasses import dataclass

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

"""Labels of ua-parser's browser and system families, and the device type of a user agent.

A family that is not listed here is "Unknown": ua-parser copies some families out of the user agent, so their number is
not limited.
"""

from typing import Literal

from waypost.clicks.classify.label_tables import label_by_name

Device = Literal["Desktop", "Mobile", "Tablet", "TV", "Console", "Watch", "Other"]

# Families whose label is their name.
_SAME_NAME = (
    "Chromium|Opera Mini|Brave|Vivaldi|UC Browser|Huawei Browser|Honor Browser|HeyTap Browser|Coc Coc|Whale|Maxthon|"
    "Puffin|Dolphin|AVG|Norton|Konqueror|Midori|SeaMonkey|Waterfox|Basilisk|Ladybird|Lynx|w3m|Dillo|NetSurf|Netscape|"
    "Sailfish Browser|Kindle|Oculus Browser|Facebook|Instagram|Pinterest|Snapchat|TikTok|LINE|KakaoTalk|Weibo|"
    "Telegram|Google|Skype|Microsoft Teams|Flipboard|Apple Mail|Thunderbird|Outlook"
)
BROWSERS = {name: name for name in _SAME_NAME.split("|")} | label_by_name(
    {
        "Chrome": "Chrome|Chrome Mobile|Chrome Mobile iOS|Chrome Mobile WebView|HeadlessChrome",
        "Safari": "Safari|Mobile Safari|Mobile Safari UI/WKWebView",
        "Firefox": "Firefox|Firefox Alpha|Firefox Beta|Firefox Mobile|Firefox iOS|Fennec",
        "Edge": "Edge|Edge Mobile",
        "Opera": "Opera|Opera Mobile|Opera Touch|Opera GX|Opera Neon|Opera Coast|Opera Tablet",
        "Internet Explorer": "IE|IE Mobile|IE Large Screen",
        "Samsung Internet": "Samsung Internet|Tizen Browser",
        "DuckDuckGo": "DuckDuckGo|DuckDuckGo Mobile",
        "Ecosia": "Ecosia Android|Ecosia iOS",
        "Yandex": "Yandex Browser",
        "MIUI Browser": "MiuiBrowser|Mint Browser",
        "Vivo Browser": "VivoBrowser",
        "Silk": "Amazon Silk",
        "QQ Browser": "QQ Browser|QQ Browser Mini|QQ Browser Mobile",
        "Quark": "Quark|Quark PC",
        "Sogou": "Sogou Explorer",
        "Baidu": "Baidu Browser|Baidu Explorer",
        "360 Browser": "360 Secure Browser",
        "Aloha": "Aloha Browser",
        "Phoenix": "Phoenix Browser",
        "Avast": "Avast Secure Browser",
        "Sber": "Sber Browser",
        "Atom": "Atom Browser",
        "Seznam": "Seznam prohlížeč",
        "GNOME Web": "Epiphany",
        "Falkon": "Falkon|QupZilla",
        "Pale Moon": "Pale Moon|PaleMoon",
        "Mullvad": "MullvadBrowser",
        "Links": "Links|ELinks",
        "Android Browser": "Android",
        "BlackBerry": "BlackBerry|BlackBerry WebKit",
        "Nokia Browser": "Nokia|Nokia Browser|Nokia OSS Browser|Nokia Services (WAP) Browser|Ovi Browser",
        "NetFront": "NetFront|NetFront NX",
        "webOS Browser": "webOS Browser|NetCast Smart TV",
        "Wolvic": "Wolvic Browser",
        "Tesla": "QtCarBrowser",
        "Steam": "Steam Client|Steam GameOverlay|Steam Deck",
        "Messenger": "Facebook Messenger",
        "X": "Twitter",
        "WeChat": "WeChat Browser",
        "Slack": "Slack Desktop Client",
    },
    "|",
)

SYSTEMS = label_by_name(
    {
        "Windows": "Windows",
        "Windows Phone": "Windows Phone|Windows Mobile",
        "macOS": "Mac OS X|Mac OS",
        "iOS": "iOS",
        "tvOS": "tvOS|ATV OS X",
        "watchOS": "WatchOS",
        "Android": "Android|GoogleTV|Chromecast Android",
        "ChromeOS": "Chrome OS",
        "Tizen": "Tizen",
        "webOS": "webOS|Web0S",
        "HarmonyOS": "HarmonyOS",
        "KaiOS": "KaiOS",
        "Firefox OS": "Firefox OS",
        "Roku": "Roku",
        "BlackBerry": "BlackBerry OS|BlackBerry Tablet OS",
        "Symbian": "Symbian OS|Symbian^3|Symbian^3 Anna|Symbian^3 Belle",
        "FreeBSD": "FreeBSD",
        "OpenBSD": "OpenBSD",
        "NetBSD": "NetBSD",
        "Solaris": "Solaris",
        "Linux": (
            "Linux|Ubuntu|Kubuntu|Lubuntu|Debian|Fedora|Red Hat|CentOS|Arch Linux|Linux Mint|Mint|Mandriva|Mageia|"
            "openSUSE|SUSE|Gentoo|Slackware|PCLinuxOS|Puppy|BackTrack|Maemo|MeeGo|Sailfish|Kindle|Chromecast Linux"
        ),
    },
    "|",
)

# iPads send the user agent of a Mac by default; these parts are only in browsers and apps of iOS.
IPAD_PARTS = ("crios/", "fxios/", "edgios/", "opt/", "gsa/", "fbios", "mobile/15e148")

SYSTEM_PARTS = {
    "playstation": "PlayStation",
    "nintendo": "Nintendo",
    "roku": "Roku",
    # Apps that name their system themselves, without a common form.
    "fb4a": "Android",
    "fban/ema": "Android",  # Facebook Lite
    "fban/messengerlite;": "Android",
    "fban/paaa": "Android",  # Meta Business Suite
    "openharmony": "HarmonyOS",
    "android": "Android",
    "iphone": "iOS",
    "ipad": "iOS",
    "fbios": "iOS",
    "forios": "iOS",
}

# By a part of the user agent, in this order: a TV or phone can contain the words of a phone or a desktop.
# Plain substrings, because regular expressions took most of the time for a new user agent.
_DEVICE_PARTS: tuple[tuple[Device, str], ...] = (
    ("Other", "oculusbrowser|wolvic|; quest|tesla/|qtcarbrowser"),
    (
        "TV",
        "smarttv|smart-tv|smart tv|appletv|apple tv|googletv|google tv|androidtv|android tv|hbbtv|opera tv|nettv|"
        "netcast|web0s|webos.tv|bravia|viera|vidaa|roku|crkey|chromecast|; aft|tvbox|tv box|mibox|mitv|"
        "large screen",
    ),
    ("Console", "playstation|xbox|nintendo|steam deck"),
    ("Watch", "watch|wear os|sm-r7|sm-r8|sm-r9"),
    (
        "Tablet",
        "ipad|tablet;|tablet)|tablet/|pixel tablet|playbook|kindle|; kf|nexus 7|nexus 9|nexus 10|pixel c |sm-t|"
        "sm-x|sm-p|gt-p|mediapad|media pad|matepad|mi pad|redmi pad|xiaomi pad|oppo pad|vivo pad|honor pad|"
        "lenovo tb|lenovo tab",
    ),
    (
        "Mobile",
        "mobi|phone|ipod|blackberry|bb10|symb|series60|series40|nokia|kaios|j2me|midp|opera mini|ucbrowser|ucweb|"
        "fennec|webos/|palm|instagram|snapchat|harmonyos|fb4a|fban/ema|fban/messengerlite;|fban/paaa|fbios|forios|"
        "orca-android|twitterandroid|telegram-android|for android|redditandroid|ddg_android|reddit/",
    ),
    ("Tablet", "android"),  # Android phones contain Mobile
    ("Desktop", "windows|macintosh|mac os x|mac_powerpc|x11|linux|cros|bsd|sunos|haiku|win98|win95|winnt|openharmony"),
)
DEVICES = [(device, parts.split("|")) for device, parts in _DEVICE_PARTS]

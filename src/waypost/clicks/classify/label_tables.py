"""Labels of referrers and languages: the main domain of sites with several domains, and of apps.

Tables have the label under which visits are counted, by the name that appears in a header.
"""

from collections.abc import Mapping


def label_by_name(groups: Mapping[str, str], separator: str | None = None) -> dict[str, str]:
    """Return the label of each name, in order. `groups` has the names of each label, separated by white space."""
    return {name: label for label, names in groups.items() for name in names.split(separator)}


FACEBOOK, X, INSTAGRAM = "facebook.com", "x.com", "instagram.com"

NETWORKS = {FACEBOOK: "social_a", X: "social_b", INSTAGRAM: "social_c"}
"""Decision 36."""

# By the whole host: services on a domain of another service.
HOSTS = label_by_name(
    {
        "gmail": "mail.google.com",
        "outlook.com": "outlook.live.com outlook.office.com outlook.office365.com outlook.cloud.microsoft",
        "teams.microsoft.com": "teams.live.com teams.microsoft.com teams.cloud.microsoft statics.teams.cdn.office.net",
    }
)

# By the registrable domain: short and second domains of a site. Google and Amazon keep their informative country
# domains.
DOMAINS = label_by_name(
    {
        FACEBOOK: (
            "fb.me fb.com fb.watch fb.gg facebook.net facebookwkhpilnemxj7asaniu7vnjjbiltxjqhye3mhbshg7kx5tfyd.onion"
        ),
        "messenger.com": "m.me",
        X: "t.co twitter.com twitter3e4tixl4xyajtrzo62zg5vztmjuricljdp2c5kshju4avyoid.onion",
        INSTAGRAM: "instagr.am ig.me",
        "threads.com": "threads.net",
        "whatsapp.com": "wa.me wl.co whatsapp.net",
        "linkedin.com": "lnkd.in linkedin.cn",
        "reddit.com": "redd.it",
        "youtube.com": "youtu.be youtube-nocookie.com",
        "telegram.org": "t.me telegram.me telegram.dog",
        "discord.com": "discord.gg discordapp.com",
        "slack.com": "slack-redir.net",
        "pinterest.com": (
            "pin.it pinterest.at pinterest.ca pinterest.ch pinterest.cl pinterest.co.kr pinterest.co.uk "
            "pinterest.com.au pinterest.com.mx pinterest.de pinterest.dk pinterest.es pinterest.fr pinterest.ie "
            "pinterest.info pinterest.it pinterest.jp pinterest.nz pinterest.ph pinterest.pt pinterest.ru "
            "pinterest.se"
        ),
        "vk.com": "vk.cc vk.ru vkontakte.ru",
        "bsky.app": "bsky.social",
        "google.com": "goo.gl g.co googleusercontent.com googlesyndication.com doubleclick.net",
        "yandex.ru": "ya.ru",
        "amazon.com": "amzn.to a.co",
        "duckduckgo.com": "ddg.gg",
        "tiktok.com": "tiktokv.com",
        "soundcloud.com": "sndcdn.com exit.sc",
        "office.com": "office.net office365.com",
    }
)

# Android apps, by id.
APPS = label_by_name(
    {
        "gmail": "com.google.android.gm com.google.android.gm.lite",
        "google.com": "com.google.android.googlequicksearchbox com.google.android.apps.searchlite",
        "news.google.com": "com.google.android.apps.magazines",
        "youtube.com": "com.google.android.youtube",
        FACEBOOK: "com.facebook.katana com.facebook.lite",
        "messenger.com": "com.facebook.orca com.facebook.mlite",
        INSTAGRAM: "com.instagram.android com.instagram.lite",
        "threads.com": "com.instagram.barcelona",
        X: "com.twitter.android com.twitter.android.lite",
        "whatsapp.com": "com.whatsapp com.whatsapp.w4b",
        "telegram.org": "org.telegram.messenger org.telegram.messenger.web org.telegram.plus org.thunderdog.challegram",
        "signal.org": "org.thoughtcrime.securesms",
        "viber.com": "com.viber.voip",
        "skype.com": "com.skype.raider",
        "discord.com": "com.discord",
        "slack.com": "com.slack",
        "teams.microsoft.com": "com.microsoft.teams",
        "outlook.com": "com.microsoft.office.outlook",
        "yahoo.com": "com.yahoo.mobile.client.android.mail",
        "linkedin.com": "com.linkedin.android",
        "pinterest.com": "com.pinterest",
        "reddit.com": "com.reddit.frontpage",
        "snapchat.com": "com.snapchat.android",
        "tiktok.com": "com.zhiliaoapp.musically com.ss.android.ugc.trill",
        "wechat.com": "com.tencent.mm",
        "qq.com": "com.tencent.mobileqq",
        "line.me": "jp.naver.line.android",
        "kakao.com": "com.kakao.talk",
        "vk.com": "com.vkontakte.android",
        "bsky.app": "xyz.blueskyweb.app",
        "joinmastodon.org": "org.joinmastodon.android",
        "tumblr.com": "com.tumblr",
        "medium.com": "com.medium.reader",
        "quora.com": "com.quora.android",
        "duckduckgo.com": "com.duckduckgo.mobile.android",
        "bing.com": "com.microsoft.bing",
    }
)

# Outdated language codes that some systems still send.
LANGUAGES = {"iw": "he", "in": "id", "ji": "yi", "jw": "jv", "mo": "ro", "tl": "fil"}
# The languages of most visitors. Others have labels too, of which the ingester keeps a limited number.
COMMON_LANGUAGES = tuple(
    "ar bg bn ca cs da de el en es et fa fi fil fr he hi hr hu id it ja ko"
    " lt lv ms nb nl no pl pt ro ru sk sl sr sv ta te th tr uk ur vi zh".split()
)

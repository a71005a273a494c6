"""Where visitors come from: the names under which sites and apps are known."""

FACEBOOK, X, INSTAGRAM = "facebook.com", "x.com", "instagram.com"

NETWORKS = {FACEBOOK: "social_a", X: "social_b", INSTAGRAM: "social_c"}
"""Decision 36."""

# By the whole host: a service of its own on a domain that is known for another.
HOSTS = {
    "mail.google.com": "gmail",
    "outlook.live.com": "outlook.com",
    "outlook.office.com": "outlook.com",
    "outlook.office365.com": "outlook.com",
    "outlook.cloud.microsoft": "outlook.com",
    "teams.live.com": "teams.microsoft.com",
    "teams.microsoft.com": "teams.microsoft.com",
    "teams.cloud.microsoft": "teams.microsoft.com",
    "statics.teams.cdn.office.net": "teams.microsoft.com",
}

# By the registrable domain: short and second domains of a site.
DOMAINS = {
    "fb.me": FACEBOOK,
    "fb.com": FACEBOOK,
    "fb.watch": FACEBOOK,
    "fb.gg": FACEBOOK,
    "facebook.net": FACEBOOK,
    "facebookwkhpilnemxj7asaniu7vnjjbiltxjqhye3mhbshg7kx5tfyd.onion": FACEBOOK,
    "m.me": "messenger.com",
    "t.co": X,
    "twitter.com": X,
    "twitter3e4tixl4xyajtrzo62zg5vztmjuricljdp2c5kshju4avyoid.onion": X,
    "instagr.am": INSTAGRAM,
    "ig.me": INSTAGRAM,
    "threads.net": "threads.com",
    "wa.me": "whatsapp.com",
    "wl.co": "whatsapp.com",
    "whatsapp.net": "whatsapp.com",
    "lnkd.in": "linkedin.com",
    "linkedin.cn": "linkedin.com",
    "redd.it": "reddit.com",
    "youtu.be": "youtube.com",
    "youtube-nocookie.com": "youtube.com",
    "t.me": "telegram.org",
    "telegram.me": "telegram.org",
    "telegram.dog": "telegram.org",
    "discord.gg": "discord.com",
    "discordapp.com": "discord.com",
    "slack-redir.net": "slack.com",
    "pin.it": "pinterest.com",
    "vk.cc": "vk.com",
    "vk.ru": "vk.com",
    "vkontakte.ru": "vk.com",
    "bsky.social": "bsky.app",
    "goo.gl": "google.com",
    "g.co": "google.com",
    "googleusercontent.com": "google.com",
    "googlesyndication.com": "google.com",
    "doubleclick.net": "google.com",
    "ya.ru": "yandex.ru",
    "amzn.to": "amazon.com",
    "a.co": "amazon.com",
    "ddg.gg": "duckduckgo.com",
    "tiktokv.com": "tiktok.com",
    "sndcdn.com": "soundcloud.com",
    "exit.sc": "soundcloud.com",
    "office.net": "office.com",
    "office365.com": "office.com",
} | dict.fromkeys(
    (
        "pinterest.at pinterest.ca pinterest.ch pinterest.cl pinterest.co.kr pinterest.co.uk pinterest.com.au "
        "pinterest.com.mx pinterest.de pinterest.dk pinterest.es pinterest.fr pinterest.ie pinterest.info pinterest.it "
        "pinterest.jp pinterest.nz pinterest.ph pinterest.pt pinterest.ru pinterest.se"
    ).split(),
    "pinterest.com",
)
# Google and Amazon keep their country domains, which are informative.

# Android's apps, by their id.
APPS = {
    "com.google.android.gm": "gmail",
    "com.google.android.gm.lite": "gmail",
    "com.google.android.googlequicksearchbox": "google.com",
    "com.google.android.apps.searchlite": "google.com",
    "com.google.android.apps.magazines": "news.google.com",
    "com.google.android.youtube": "youtube.com",
    "com.facebook.katana": FACEBOOK,
    "com.facebook.lite": FACEBOOK,
    "com.facebook.orca": "messenger.com",
    "com.facebook.mlite": "messenger.com",
    "com.instagram.android": INSTAGRAM,
    "com.instagram.lite": INSTAGRAM,
    "com.instagram.barcelona": "threads.com",
    "com.twitter.android": X,
    "com.twitter.android.lite": X,
    "com.whatsapp": "whatsapp.com",
    "com.whatsapp.w4b": "whatsapp.com",
    "org.telegram.messenger": "telegram.org",
    "org.telegram.messenger.web": "telegram.org",
    "org.telegram.plus": "telegram.org",
    "org.thunderdog.challegram": "telegram.org",
    "org.thoughtcrime.securesms": "signal.org",
    "com.viber.voip": "viber.com",
    "com.skype.raider": "skype.com",
    "com.discord": "discord.com",
    "com.slack": "slack.com",
    "com.microsoft.teams": "teams.microsoft.com",
    "com.microsoft.office.outlook": "outlook.com",
    "com.yahoo.mobile.client.android.mail": "yahoo.com",
    "com.linkedin.android": "linkedin.com",
    "com.pinterest": "pinterest.com",
    "com.reddit.frontpage": "reddit.com",
    "com.snapchat.android": "snapchat.com",
    "com.zhiliaoapp.musically": "tiktok.com",
    "com.ss.android.ugc.trill": "tiktok.com",
    "com.tencent.mm": "wechat.com",
    "com.tencent.mobileqq": "qq.com",
    "jp.naver.line.android": "line.me",
    "com.kakao.talk": "kakao.com",
    "com.vkontakte.android": "vk.com",
    "xyz.blueskyweb.app": "bsky.app",
    "org.joinmastodon.android": "joinmastodon.org",
    "com.tumblr": "tumblr.com",
    "com.medium.reader": "medium.com",
    "com.quora.android": "quora.com",
    "com.duckduckgo.mobile.android": "duckduckgo.com",
    "com.microsoft.bing": "bing.com",
}

# Languages under names that are no longer in use, as some systems still send them.
LANGUAGES = {"iw": "he", "in": "id", "ji": "yi", "jw": "jv", "mo": "ro", "tl": "fil"}

"""Tables of user agents: bots, link previews, tools, phone models, browsers, systems and device types.

Everything about bots is in lower case, and a word is a run of letters, digits and `._-`. Labels come from here only, so
that invented user agents cannot fill the statistics: a family of ua-parser that is not listed here is "Unknown",
because ua-parser copies some families out of the user agent.

The package crawler-user-agents cannot replace these tables: it lists tools, which count as clicks (decision 47), and
people, such as those in the built-in browsers of Facebook and Instagram. Its samples are worth a look for new names.
"""

import re
from typing import Literal

from waypost.clicks.classify.label_tables import label_by_name

# Link previews: the link was posted in a message but not followed. The first match counts.
PREVIEWS = label_by_name(
    {
        "KakaoTalk": "kakaotalk-scrap",
        "LINE": "line-poker",
        "Slackbot": "slackbot-linkexpanding slackbot slack-imgproxy",
        "Facebook": "facebookexternalhit facebookexternalua facebot",  # iMessage sends it too, after a copied Safari
        "Telegram": "telegrambot",  # it adds "(like TwitterBot)"
        "Twitterbot": "twitterbot",
        "Discord": "discordbot",
        "LinkedIn": "linkedinbot",
        "Skype": "skypeuripreview",
        "Reddit": "redditbot",
        "VK": "vkshare",
        "Iframely": "iframely",
        "Embedly": "embedly",
        "Bluesky": "cardyb",
        "Mastodon": (
            "mastodon pleroma misskey akkoma lemmy summalybot gotosocial friendica pixelfed peertube mbin sharkey "
            "iceshrimp"
        ),
        "Matrix": "synapse",
        "Bitly": "bitlybot",
        "XING": "xing-contenttabreceiver",
        "Microsoft Office": "ms-office msoffice",  # Office fetches the URL before it opens the browser
        "Zoom": "zoom-linkpreview",
        "Mattermost": "mattermost-bot",
        "Discourse": "onebox",
        "Revolt": "january",
        "Medium": "mediumbot-metatagfetcher",
        "OK": "odklbot",
        "Steam": "steamchaturllookup",
        "Hatena": "hatena hatenabookmark",
        "Fastmail": "fastmailua",
        "GitHub": "github-camo",
    }
)
# Messengers whose previews send the bare name first. Their built-in browsers send Mozilla first.
PREVIEW_STARTS = {
    "whatsapp": "WhatsApp",
    "viber": "Viber",
    "shortwave image fetcher": "Shortwave",
    "microsoft office/": "Microsoft Office",
    "nextcloud server crawler": "Nextcloud",
    "tumblr/": "Tumblr",
}
PREVIEW_PARTS = ("url preview", "urlpreview", "link preview", "linkpreview", "link-preview", "url-preview")

# Bots without `bot` in their name, and the best-known bots with it. The first match counts.
BOTS = label_by_name(
    {
        "Feedly": "feedly",
        "Googlebot": "googlebot googlebot-image googlebot-news googlebot-video",
        "Google": (
            "googleother google-inspectiontool google-read-aloud google-site-verification google-safety "
            "google-pagerenderer google-agent gemini-deep-research googleimageproxy googlehc mediapartners-google "
            "adsbot-google feedfetcher-google apis-google storebot-google playstore-google google-xrawler "
            "google-physicalweb google-ads-conversions google-adwords-express google-certificates-bridge "
            "googleassociationservice google-area120-privacypolicyfetcher"
        ),
        "Bingbot": "bingbot bingpreview microsoftpreview adidxbot",
        "DuckDuckBot": "duckduckbot duckassistbot",
        "YandexBot": "yandexbot",
        "Baiduspider": "baiduspider",
        "Applebot": "applebot",
        "Amazonbot": "amazonbot",
        "PetalBot": "petalbot",
        "Bytespider": "bytespider",
        "AhrefsBot": "ahrefsbot",
        "SemrushBot": "semrushbot",
        "MJ12bot": "mj12bot",
        "DotBot": "dotbot",
        "OpenAI": "gptbot chatgpt-user oai-searchbot",
        "Anthropic": "claudebot claude-user claude-web claude-searchbot anthropic-ai",
        "Perplexity": "perplexitybot perplexity-user",
        "Mistral": "mistralai-user",
        "Cohere": "cohere-ai",
        "Meta": "meta-externalagent meta-externalads meta-externalfetcher meta-webindexer facebookcatalog",
        "Common Crawl": "ccbot",
        "UptimeRobot": "uptimerobot",
        "Yahoo": "yahoomailproxy",
        "Flipboard": "flipboardproxy",
        "Unknown": (
            "statuscake site24x7 freshping nodeping catchpoint datadogsynthetics zabbix nagios ptst gtmetrix "
            "kube-probe check_http prometheus blackbox blackbox-exporter envoy googlesecurityscanner curlbot nuclei "
            "sqlmap nikto nmap masscan zgrab censysinspect expanse shodan wpscan acunetix netsparker qualys nessus "
            "openvas gobuster dirbuster feroxbuster ffuf wfuzz whatweb wapiti arachni internetmeasurement l9explore "
            "l9tcpid netcraftsurveyagent urlscan virustotal virustotalcloud barracuda proofpoint "
            "proofpointurldefense safelinks mimecast scrapy "
            "heritrix nutch httrack ia_archiver omgili diffbot webzio-extended timpibot phantomjs slimerjs htmlunit "
            "jsdom zombie prerender rendertron chrome-lighthouse synthetics outbrain taboola feedbin newsblur "
            "inoreader netvibes w3c_validator wordpress drupal "
            "appinsights siteimprove.com dareboost silktide thousandeyes websitepulse sitelock bugsnag uptrends "
            "updown.io hydrozen.io sqwatcher keycdn-tools websiteops netvigie panopta cookiehubscan cookiehubverify "
            "hardenize foregenix watchtowr securityheaders netsystemsresearch zmeu acunetix-product asnriskscorer "
            "onetrust iubenda-radar termly cloudflare-ssldetector cloudflare-csup cloudflare-radar-scanner dnsscanner "
            "twinwavescanner w3c-mobileok w3c_i18n-checker "
            "w3c_unicorn datanyze ips-agent infegy.com linktiger marketgoo linkdex.com panscient.com brandwatch "
            "funnelback daumoa kagi-fetcher bigsur.ai manus-user spawning-ai printfriendly.com brokenlinkcheck.com "
            "sitesucker webcopier cyotekwebcopy larbin blogtrottr openrss instapaper pixalate.com scope3 adbeat.com"
        ),
    }
)
BOT_PARTS = (
    *("crawl", "spider", "slurp", "scraper", "headless", "selenium", "puppeteer", "playwright", "lighthouse"),
    *("page speed", "pagespeed", "monitor", "uptime", "pingdom", "healthcheck", "health-check", "health check"),
    *("archiver", "archive-it", "archiving", "indexer", "feedfetcher", "feed fetcher", "validator", "checklink"),
    *("link checker", "linkchecker", "web preview", "google favicon", "ssl labs", "ssl server survey", "synthetic"),
    *("ghost inspector", "mailto:", "privacy preserving prefetch", "site verifier", "vulnerability"),
)
BOT = re.compile(r"(?<!cu)bots?(?![a-z])")  # Cubot makes phones
# Parentheses with a phone model can contain any word, unless a bot copied them and added its own name.
MODEL = re.compile(r"\((?:linux|android)[;,](?![^()]*(?:compatible|https?:|-google))[^()]*\)", re.IGNORECASE)
COMPATIBLE = re.compile(r"compatible; ?(?!msie|konqueror|abrowse|lotus|netfront)[a-z]")
# The start of every browser's user agent, with more text after it. Or a feature phone, which does not send Mozilla.
BROWSER = re.compile(r"(?:mozilla|opera)/(?!\d\.\d+(?: \(compatible;?\))?\s*\Z)|(?=.*\b(?:midp|cldc|wap)\b)")
ADDRESS = re.compile(r"https?:|www\.")

# Programs that fetch for a person, by their first word. Unknown programs that are not browsers count as tools too.
TOOLS = label_by_name(
    {
        "curl": "curl libcurl pycurl",
        "Wget": "wget wget2",
        "HTTPie": "httpie",
        "xh": "xh",
        "aria2": "aria2",
        "Python Requests": "python-requests",
        "Python urllib": "python-urllib python-urllib3",
        "Python HTTPX": "python-httpx",
        "Python": "python aiohttp",
        "Go": "go-http-client go-resty",
        "Java": "java java-http-client apache-httpclient",
        "OkHttp": "okhttp",
        "Android app": "dalvik",
        "Node.js": "node node-fetch node-superagent undici axios got",
        "Deno": "deno",
        "Bun": "bun",
        "PHP": "php guzzlehttp symfony",
        "Ruby": "ruby faraday http.rb mechanize rest-client typhoeus",
        "Perl": "libwww-perl lwp-request lwp",
        "Rust": "reqwest hyper ureq",
        "Dart": "dart",
        ".NET": "restsharp",
        "Postman": "postmanruntime",
        "Insomnia": "insomnia",
        "VLC": "vlc",
        "FFmpeg": "lavf",
        "Kodi": "kodi",
        "Apple media player": "applecoremedia",
        "Git": "git",
    }
)
TOOL_PARTS = {"powershell/": "PowerShell", "cfnetwork/": "Apple app"}

# Browsers inside apps, and browsers that ua-parser does not know, by a word. The first match counts.
APPS = label_by_name(
    {
        "Messenger": "messengerforios messengerliteforios orca-android",
        "Facebook": "fban fbav fb_iab",
        "Instagram": "instagram",
        "Threads": "barcelona",
        "LinkedIn": "linkedinapp",
        "Google": "gsa",
        "WeChat": "micromessenger",
        "TikTok": "musical_ly bytedancewebview bytelocale trill tiktok",
        "Pinterest": "pinterest",
        "Snapchat": "snapchat",
        "KakaoTalk": "kakaotalk",
        "Telegram": "telegram-android",
        "X": "twitter twitterandroid",
        "WhatsApp": "whatsapp wa4a waios",
        "Reddit": "reddit redditandroid redditios",
        "Gemini": "geminiios geminiandroid",
        "Weibo": "weibo",
        "DingTalk": "dingtalk",
        "Alipay": "alipayclient",
        "Zalo": "zalo",
        "Slack": "slack_ssb slack",
        "Discord": "discord",
        "Microsoft Teams": "teams",
        "Brave": "brave",
        "DuckDuckGo": "ddg duckduckgo",
        "Ecosia": "ecosia",
        "LINE": "line",
        "NetFront": "nintendobrowser",
    }
)


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

"""Tables of user agents: bots, link previews, tools and phone models.

Everything is in lower case, and a word is a run of letters, digits and `._-`. Labels come from here only, so that
invented user agents cannot fill the statistics.

The package crawler-user-agents cannot replace these tables: it lists tools, which count as clicks (decision 47), and
people, such as those in the built-in browsers of Facebook and Instagram. Its samples are worth a look for new names.
"""

import re

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

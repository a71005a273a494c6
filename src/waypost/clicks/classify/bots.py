"""Tables of user agents: bots, link previews, tools and phone models.

Everything is in lower case, and a word is a run of letters, digits and `._-`. Labels come from here only, so that
invented user agents cannot fill the statistics.
"""

import re

# Link previews: the link was posted in a message but not followed. The first match counts.
PREVIEWS = {
    "kakaotalk-scrap": "KakaoTalk",
    "line-poker": "LINE",
    "slackbot-linkexpanding": "Slackbot",
    "slackbot": "Slackbot",
    "slack-imgproxy": "Slackbot",
    "facebookexternalhit": "Facebook",  # also what iMessage says, with a faked Safari before it
    "facebookexternalua": "Facebook",
    "facebot": "Facebook",
    "telegrambot": "Telegram",  # like TwitterBot, it says
    "twitterbot": "Twitterbot",
    "discordbot": "Discord",
    "linkedinbot": "LinkedIn",
    "skypeuripreview": "Skype",
    "redditbot": "Reddit",
    "vkshare": "VK",
    "iframely": "Iframely",
    "embedly": "Embedly",
    "cardyb": "Bluesky",
    "mastodon": "Mastodon",
    "pleroma": "Mastodon",
    "misskey": "Mastodon",
    "akkoma": "Mastodon",
    "synapse": "Matrix",
    "bitlybot": "Bitly",
    "xing-contenttabreceiver": "XING",
    "ms-office": "Microsoft Office",  # asks once itself before it hands the link to the browser
    "msoffice": "Microsoft Office",
    "zoom-linkpreview": "Zoom",
    "mattermost-bot": "Mattermost",
}
# Messengers that fetch under their bare name, and whose own browser has a Mozilla in front of it.
PREVIEW_STARTS = {
    "whatsapp/": "WhatsApp",
    "viber/": "Viber",
    "viber ": "Viber",
    "microsoft office/": "Microsoft Office",
}
PREVIEW_PARTS = ("url preview", "urlpreview", "link preview", "linkpreview", "link-preview", "url-preview")

# Bots without `bot` in their name, and the best known with it. The first match counts.
BOTS = {
    "feedly": "Feedly",
    "googlebot": "Googlebot",
    "googlebot-image": "Googlebot",
    "googlebot-news": "Googlebot",
    "googlebot-video": "Googlebot",
    "googleother": "Google",
    "google-inspectiontool": "Google",
    "google-read-aloud": "Google",
    "google-site-verification": "Google",
    "google-safety": "Google",
    "google-pagerenderer": "Google",
    "google-agent": "Google",
    "gemini-deep-research": "Google",
    "googleimageproxy": "Google",
    "googlehc": "Google",
    "mediapartners-google": "Google",
    "adsbot-google": "Google",
    "feedfetcher-google": "Google",
    "apis-google": "Google",
    "bingbot": "Bingbot",
    "bingpreview": "Bingbot",
    "microsoftpreview": "Bingbot",
    "adidxbot": "Bingbot",
    "duckduckbot": "DuckDuckBot",
    "duckassistbot": "DuckDuckBot",
    "yandexbot": "YandexBot",
    "baiduspider": "Baiduspider",
    "applebot": "Applebot",
    "amazonbot": "Amazonbot",
    "petalbot": "PetalBot",
    "bytespider": "Bytespider",
    "ahrefsbot": "AhrefsBot",
    "semrushbot": "SemrushBot",
    "mj12bot": "MJ12bot",
    "dotbot": "DotBot",
    "gptbot": "OpenAI",
    "chatgpt-user": "OpenAI",
    "oai-searchbot": "OpenAI",
    "claudebot": "Anthropic",
    "claude-user": "Anthropic",
    "claude-web": "Anthropic",
    "claude-searchbot": "Anthropic",
    "anthropic-ai": "Anthropic",
    "perplexitybot": "Perplexity",
    "perplexity-user": "Perplexity",
    "mistralai-user": "Mistral",
    "cohere-ai": "Cohere",
    "meta-externalagent": "Meta",
    "meta-externalfetcher": "Meta",
    "meta-webindexer": "Meta",
    "facebookcatalog": "Meta",
    "ccbot": "Common Crawl",
    "uptimerobot": "UptimeRobot",
    "yahoomailproxy": "Yahoo",
    "flipboardproxy": "Flipboard",
} | dict.fromkeys(
    (
        "statuscake site24x7 freshping nodeping catchpoint datadogsynthetics zabbix nagios ptst gtmetrix "
        "kube-probe check_http prometheus blackbox blackbox-exporter envoy googlesecurityscanner curlbot "
        "nuclei sqlmap nikto nmap masscan zgrab censysinspect expanse shodan wpscan acunetix netsparker qualys nessus "
        "openvas gobuster dirbuster feroxbuster ffuf wfuzz whatweb wapiti arachni internetmeasurement l9explore "
        "l9tcpid netcraftsurveyagent urlscan virustotal virustotalcloud barracuda proofpoint mimecast "
        "scrapy heritrix nutch httrack ia_archiver omgili diffbot webzio-extended timpibot phantomjs slimerjs htmlunit "
        "jsdom zombie prerender rendertron chrome-lighthouse synthetics outbrain taboola feedbin newsblur "
        "inoreader netvibes w3c_validator wordpress drupal"
    ).split(),
    "Unknown",
)
BOT_PARTS = (
    *("crawl", "spider", "slurp", "scraper", "headless", "selenium", "puppeteer", "playwright", "lighthouse"),
    *("page speed", "pagespeed", "monitor", "uptime", "pingdom", "healthcheck", "health-check", "health check"),
    *("archiver", "indexer", "feedfetcher", "feed fetcher", "validator", "checklink", "link checker", "linkchecker"),
    *("web preview", "synthetic", "mailto:", "privacy preserving prefetch", "site verifier", "vulnerability"),
)
BOT = re.compile(r"(?<!cu)bots?(?![a-z])")  # Cubot makes phones
# Parentheses with a phone model can contain any word; a bot that copies them names itself there.
MODEL = re.compile(r"\((?:linux|android)[;,](?![^()]*(?:compatible|https?:))[^()]*\)", re.IGNORECASE)
COMPATIBLE = re.compile(r"compatible; ?(?!msie|konqueror|abrowse|lotus|netfront)[a-z]")
# The start of every browser's user agent; alone it is a program. Or a feature phone without Mozilla.
BROWSER = re.compile(r"(?:mozilla|opera)/(?!\d\.\d+(?: \(compatible;?\))?\s*\Z)|(?=.*\b(?:midp|cldc|wap)\b)")
ADDRESS = re.compile(r"https?:|www\.")

# Programs that fetch on a person's behalf, by their first word. Others whose name is no browser's count as tools too.
TOOLS = {
    "curl": "curl",
    "libcurl": "curl",
    "pycurl": "curl",
    "wget": "Wget",
    "wget2": "Wget",
    "httpie": "HTTPie",
    "xh": "xh",
    "aria2": "aria2",
    "python-requests": "Python Requests",
    "python-urllib": "Python urllib",
    "python-urllib3": "Python urllib",
    "python-httpx": "Python HTTPX",
    "python": "Python",
    "aiohttp": "Python",
    "go-http-client": "Go",
    "go-resty": "Go",
    "java": "Java",
    "java-http-client": "Java",
    "apache-httpclient": "Java",
    "okhttp": "OkHttp",
    "dalvik": "Android app",
    "node": "Node.js",
    "node-fetch": "Node.js",
    "node-superagent": "Node.js",
    "undici": "Node.js",
    "axios": "Node.js",
    "got": "Node.js",
    "deno": "Deno",
    "bun": "Bun",
    "php": "PHP",
    "guzzlehttp": "PHP",
    "symfony": "PHP",
    "ruby": "Ruby",
    "faraday": "Ruby",
    "http.rb": "Ruby",
    "mechanize": "Ruby",
    "rest-client": "Ruby",
    "typhoeus": "Ruby",
    "libwww-perl": "Perl",
    "lwp-request": "Perl",
    "lwp": "Perl",
    "reqwest": "Rust",
    "hyper": "Rust",
    "ureq": "Rust",
    "dart": "Dart",
    "restsharp": ".NET",
    "postmanruntime": "Postman",
    "insomnia": "Insomnia",
    "vlc": "VLC",
    "lavf": "FFmpeg",
    "kodi": "Kodi",
    "applecoremedia": "Apple media player",
    "git": "Git",
}
TOOL_PARTS = {"powershell/": "PowerShell", "cfnetwork/": "Apple app"}

# Browsers inside apps and browsers that ua-parser does not know, by a word; the first in this order.
APPS = {
    "messengerforios": "Messenger",
    "messengerliteforios": "Messenger",
    "orca-android": "Messenger",
    "fban": "Facebook",
    "fbav": "Facebook",
    "fb_iab": "Facebook",
    "instagram": "Instagram",
    "barcelona": "Threads",
    "linkedinapp": "LinkedIn",
    "gsa": "Google",
    "micromessenger": "WeChat",
    "musical_ly": "TikTok",
    "bytedancewebview": "TikTok",
    "bytelocale": "TikTok",
    "trill": "TikTok",
    "tiktok": "TikTok",
    "pinterest": "Pinterest",
    "snapchat": "Snapchat",
    "kakaotalk": "KakaoTalk",
    "telegram-android": "Telegram",
    "twitter": "X",
    "twitterandroid": "X",
    "whatsapp": "WhatsApp",
    "weibo": "Weibo",
    "dingtalk": "DingTalk",
    "alipayclient": "Alipay",
    "zalo": "Zalo",
    "slack_ssb": "Slack",
    "slack": "Slack",
    "discord": "Discord",
    "teams": "Microsoft Teams",
    "brave": "Brave",
    "ddg": "DuckDuckGo",
    "duckduckgo": "DuckDuckGo",
    "ecosia": "Ecosia",
    "line": "LINE",
    "nintendobrowser": "NetFront",
}

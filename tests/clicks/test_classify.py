"""Classification of visits by user agent, referrer, language and country."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.user_agents import AGENTS
from waypost.clicks.classify import user_agents
from waypost.clicks.classify.classifier import Agent, Referrer, agent, is_prefetch, language, referrer
from waypost.clicks.geo.countries import NAMES, name_of

LINES = [line.split("|", 4) for line in AGENTS.strip("\n").split("\n")]
REFERRERS = """
facebook.com social_a https://www.facebook.com/ https://m.facebook.com/ https://l.facebook.com/l.php?u=https%3A%2F%2Fx.example
facebook.com social_a http://lm.facebook.com/ https://de-de.facebook.com/groups/1 https://web.facebook.com/ https://fb.me/x
facebook.com social_a android-app://m.facebook.com android-app://facebook.com/ android-app://www.facebook.com/https/x
x.com social_b android-app://t.co android-app://mobile.twitter.com/
youtube.com - android-app://youtube.com/ android-app://m.youtube.com
example.com - android-app://www.example.com
de.zeit.online - android-app://de.zeit.online
facebook.com social_a android-app://com.facebook.katana/ https://fb.watch/abc/ http://touch.FACEBOOK.com:443/ https://facebook.com./
x.com social_b https://t.co/abc https://twitter.com/somebody https://mobile.twitter.com/ https://x.com/ https://www.x.com/home
x.com social_b android-app://com.twitter.android
instagram.com social_c https://l.instagram.com/?u=https%3A%2F%2Fx.example&e=abc https://www.instagram.com/ https://instagr.am/p/1
instagram.com social_c android-app://com.instagram.android/
messenger.com - https://l.messenger.com/ https://m.me/x android-app://com.facebook.orca
threads.com - https://l.threads.net/ https://www.threads.com/ https://www.threads.net/@x
reddit.com - https://out.reddit.com/t3_abc https://old.reddit.com/r/x https://www.reddit.com/ https://redd.it/abc
linkedin.com - https://lnkd.in/abc https://www.linkedin.com/feed/ https://de.linkedin.com/ android-app://com.linkedin.android/
youtube.com - https://youtu.be/abc https://m.youtube.com/ https://www.youtube.com/redirect?q=x android-app://com.google.android.youtube
telegram.org - https://t.me/x https://web.telegram.org/ android-app://org.telegram.messenger android-app://org.telegram.messenger.web/
whatsapp.com - https://wa.me/49 https://web.whatsapp.com/ https://l.wl.co/l?u=x android-app://com.whatsapp/
pinterest.com - https://www.pinterest.de/pin/1 https://pin.it/x https://www.pinterest.co.uk/ https://pinterest.com/
gmail - android-app://com.google.android.gm https://mail.google.com/mail/u/0/ android-app://com.google.android.gm/
google.com - https://www.google.com/ android-app://com.google.android.googlequicksearchbox/ https://news.google.com/ https://goo.gl/x
google.de - https://www.google.de/ http://images.google.de/url?q=x
google.co.uk - https://www.google.co.uk/
amazon.de - https://www.amazon.de/dp/1
bing.com - https://www.bing.com/ https://cn.bing.com/search?q=x
duckduckgo.com - https://duckduckgo.com/ https://html.duckduckgo.com/html/
yandex.ru - https://yandex.ru/ https://ya.ru/
yahoo.co.jp - https://search.yahoo.co.jp/search?p=x
outlook.com - https://outlook.live.com/ https://outlook.office.com/ https://eur01.safelinks.protection.outlook.com/?url=x
teams.microsoft.com - https://teams.microsoft.com/ https://statics.teams.cdn.office.net/
slack.com - https://app.slack.com/ https://slack-redir.net/link?url=x android-app://com.Slack/
discord.com - https://discord.com/channels/1 https://discordapp.com/
tiktok.com - https://www.tiktok.com/ https://vm.tiktok.com/x android-app://com.zhiliaoapp.musically
bsky.app - https://bsky.app/ https://go.bsky.app/
example.com - https://www.example.com/a/b?c#d http://example.com HTTPS://A.B.C.EXAMPLE.COM/ https://user:pass@example.com/
example.co.uk - https://blog.example.co.uk/
example.com.au - https://www.example.com.au/
somebody.github.io - https://somebody.github.io/page
xn--mnchen-3ya.de - https://www.münchen.de/ https://xn--mnchen-3ya.de/
evil.example - https://facebook.com@evil.example/ https://facebook.com.evil.example/ https://www.facebook.com:80@evil.example/
notfacebook.com - https://notfacebook.com/
localhost - http://localhost:8000/ http://LOCALHOST
intranet - http://intranet/wiki
8.8.8.8 - http://8.8.8.8/ https://8.8.8.8:8443/x http://0x08080808/
2001:db8::1 - http://[2001:db8::1]/ http://[2001:DB8:0:0::1]:8080/
org.example.reader - android-app://org.example.reader/http/x
Direct - about:blank data:text/html,x javascript:alert(1) file:///etc/passwd chrome-extension://abc/ ftp://a.example/ -
Direct - www.example.com /path //example.com/ http:// https:// http:/// http://[ http://[::1 http://[x]/
Direct - https://facebook.com\\@evil.example/ http://.../ http://exa<mple.com/ http://-/ android-app:// android-app://a/
"""


@pytest.mark.parametrize("line", LINES, ids=[line[4][:60] for line in LINES])
def test_user_agent_samples_are_classified(line: list[str]) -> None:
    kind, browser, os, device, user_agent = line
    labels = agent(user_agent)
    assert (labels.kind, labels.browser, labels.os, labels.device) == (kind, browser, os, device)


def test_user_agent_table_is_large_without_duplicates() -> None:
    assert len(LINES) > 200
    assert len({line[4] for line in LINES}) == len(LINES)
    assert {line[0] for line in LINES} == {"human", "tool", "bot", "preview"}


def _referrers() -> list[tuple[str, str, str]]:
    cases = []
    for line in REFERRERS.strip().splitlines():
        label, network, *urls = line.split(" ")
        cases += [(url, label, network.strip("-")) for url in urls]
    return cases


@pytest.mark.parametrize(("url", "label", "network"), _referrers())
def test_referrer_is_labeled_by_site(url: str, label: str, network: str) -> None:
    assert referrer(url) == Referrer(label, network)


@pytest.mark.parametrize(
    "header",
    [
        *("", " ", "\0", "http://\0", "http://exa\0mple.com/", "\ud800", "http://\ud800.com/", "http://\ufffd\ufffd/"),
        *(
            "http://a..b/",
            "http://" + "a" * 64 + ".com/",
            "http://a b/",
            "http://%00/",
            "http://xn--/",
            "http://xn--a.com/",
        ),
        *("http://\u202egro.elpmaxe/", "http://example.com:99999999/", "http://example.com:x/", "http://①.example:x"),
    ],
)
def test_malformed_referrers_are_handled(header: str) -> None:
    labels = referrer(header)
    assert 0 < len(labels.label) <= 100
    assert labels.label.isprintable()
    assert labels.network == ""


def test_referrer_label_length_is_limited() -> None:
    long = ".".join(["a" * 60] * 4)
    assert len(referrer(f"http://{long}/").label) <= 100
    assert len(referrer(f"android-app://{long}/").label) <= 100
    assert referrer("https://example.com/" + "x" * 10_000).label == "example.com"
    assert referrer("https://" + "x" * 10_000 + ".example.com/").label == "Direct"


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        *(("de", "de"), ("de-DE", "de"), ("de-DE,de;q=0.9,en;q=0.8", "de"), ("DE-de", "de"), ("en-US,en;q=0.5", "en")),
        *(("en;q=0.5,fr;q=0.9,de;q=0.7", "fr"), ("en;q=0.8,fr;q=0.8", "en"), ("zh-Hans-CN", "zh"), ("zh-TW,zh", "zh")),
        *(
            ("en ; q = 0.3 , de ; q=0.4", "de"),
            ("*", "Unknown"),
            ("*,de;q=0.1", "de"),
            ("de;q=0", "Unknown"),
            ("", "Unknown"),
        ),
        *(("de;q=0,en;q=0.1", "en"), ("de;q=x,en;q=0.1", "en"), ("de;q=2,en;q=0.1", "en"), ("de;q=1.000", "de")),
        *(("iw-IL", "he"), ("in", "id"), ("fil-PH", "fil"), ("i-klingon", "Unknown"), ("x-own,en;q=0.2", "en")),
        *(
            ("deutsch", "Unknown"),
            ("d", "Unknown"),
            ("12", "Unknown"),
            (",,,", "Unknown"),
            ("d\0", "Unknown"),
            ("дe", "Unknown"),
        ),
        ("en;q=0.1," * 10_000 + "de", "en"),
    ],
)
def test_accept_language_is_classified_by_preferred_language(header: str, expected: str) -> None:
    assert language(header) == expected


@pytest.mark.parametrize(
    ("purpose", "expected"),
    [
        *(
            (purpose, True)
            for purpose in ("prefetch", "prefetch;prerender", "prefetch; anonymous-client-ip", "Prefetch")
        ),
        *((purpose, True) for purpose in ("preview", "prerender", " prefetch ", "prefetch;prerender;x", "x,prefetch")),
        *(
            (purpose, False)
            for purpose in ("", "navigate", "prefetching", "no-prefetch", ";", "x" * 10_000 + ";prefetch")
        ),
    ],
)
def test_prefetch_is_detected_by_header(purpose: str, expected: bool) -> None:  # noqa: FBT001  # a case of the table
    assert is_prefetch(purpose) is expected


@pytest.mark.parametrize(
    ("code", "name"),
    [
        *(
            ("DE", "Germany"),
            ("de", "Germany"),
            ("US", "United States"),
            ("GB", "United Kingdom"),
            ("UK", "United Kingdom"),
        ),
        *(("XK", "Kosovo"), ("CI", "Ivory Coast"), (" FR ", "France")),
        *((code, "Unknown") for code in ("", "XX", "T1", "ZZ", "EU", "AP", "A1", "??", "DEU", "D", "\0", "DE" * 5000)),
    ],
)
def test_country_code_of_proxy_is_mapped(code: str, name: str) -> None:
    assert name_of(code) == name


def test_country_names_are_unique() -> None:
    assert len(NAMES) == len(set(NAMES.values())) == 250
    assert all(len(code) == 2 and code.isupper() and name == name.strip() for code, name in NAMES.items())


BROWSERS = {*user_agents.BROWSERS.values(), *user_agents.APPS.values(), "Unknown"}
PROGRAMS = {*user_agents.PREVIEWS.values(), *user_agents.PREVIEW_STARTS.values(), *user_agents.BOTS.values()}
TOOLS = {*user_agents.TOOLS.values(), *user_agents.TOOL_PARTS.values()}
SYSTEMS = {*user_agents.SYSTEMS.values(), *user_agents.SYSTEM_PARTS.values(), "Unknown"}
PIECES = st.sampled_from(
    [*user_agents.PREVIEWS, *user_agents.BOTS, *user_agents.TOOLS, *user_agents.APPS, *user_agents.BOT_PARTS]
)
AGENT_LIKE = st.lists(st.sampled_from([line[4] for line in LINES]) | PIECES | st.text(max_size=20)).map(" ".join)


@given(text=AGENT_LIKE | st.text() | st.binary().map(lambda raw: raw.decode("utf-8", "replace")))
def test_any_user_agent_has_known_labels(text: str) -> None:
    labels = agent(text)
    assert isinstance(labels, Agent)
    assert labels.kind in ("human", "tool", "bot", "preview")
    assert labels.browser in BROWSERS | PROGRAMS | TOOLS
    assert labels.os in SYSTEMS
    assert labels.device in ("Desktop", "Mobile", "Tablet", "TV", "Console", "Watch", "Other")


@given(text=st.text() | st.text().map("https://{}".format) | st.text().map("android-app://{}".format))
def test_any_referrer_has_short_printable_label(text: str) -> None:
    labels = referrer(text)
    assert 0 < len(labels.label) <= 100
    assert labels.label.isprintable()
    assert labels.label == "Direct" or labels.label == labels.label.lower()
    assert labels.network in ("", "social_a", "social_b", "social_c")


@given(text=st.text() | st.lists(st.text(alphabet="abz-;=q0.15* ")).map(",".join))
def test_any_language_has_two_or_three_character_label(text: str) -> None:
    label = language(text)
    assert label == "Unknown" or (len(label) in (2, 3) and label.isascii() and label.isalpha() and label.islower())
    assert is_prefetch(text) in (True, False)


def test_very_long_user_agent_is_classified() -> None:
    assert agent("Mozilla/5.0 (" + "(" * 100_000).kind == "human"
    assert agent("a" * 100_000).kind == "tool"
    assert agent("\ud800\udfff" * 1000).kind == "tool"

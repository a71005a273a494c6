"""Classification of visits: pure functions of header values, each behind a bounded cache."""

import ipaddress
import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal
from urllib.parse import urlsplit

from publicsuffixlist import PublicSuffixList
from ua_parser.loaders import load_lazy_builtins
from ua_parser.regex import Resolver

from waypost.clicks.classify import label_tables, language_ranges, user_agents
from waypost.clicks.classify.user_agents import Device
from waypost.core.uris import ascii_host

UNKNOWN = "Unknown"
DIRECT = "Direct"
LONGEST_LABEL = 100

Kind = Literal["human", "tool", "bot", "preview"]

# Longer values are cut before they are cached: real values are shorter, and invented ones must not fill the memory.
_LONGEST_AGENT = 512
_LONGEST_REFERRER = 512
_WORD = re.compile(r"[a-z0-9][a-z0-9._-]*")
_APP = re.compile(r"[a-z][a-z0-9_]*(?:\.[a-z0-9_]+)+\Z")
_PREFETCHES = frozenset({"prefetch", "prerender", "preview"})


@dataclass(frozen=True, slots=True)
class Agent:
    """A visitor's program. `tool` counts as a click like `human`; `bot` and `preview` do not (decision 47).

    `browser` and `os` are names from our own tables or "Unknown". For a tool, a bot or a preview `browser` is the
    program's or its maker's name, and `device` is "Other".
    """

    kind: Kind
    browser: str
    os: str
    device: Device


@dataclass(frozen=True, slots=True)
class Referrer:
    """Where a visitor comes from: a site's registrable domain in lower case, `gmail`, or "Direct".

    All domains of one site are one label, so `t.co`, `twitter.com` and `mobile.twitter.com` are `x.com`; Google's and
    Amazon's countries stay apart (`google.de`). An app is the site it belongs to, or its id. `network` is `social_a`,
    `social_b`, `social_c` (decision 36) or "". `label` has at most 100 characters, all printable.
    """

    label: str
    network: str


_DIRECT = Referrer(DIRECT, "")


def agent(user_agent: str) -> Agent:
    """Classify a `User-Agent` value; never fails."""
    return _agent(user_agent[:_LONGEST_AGENT])


def referrer(value: str, *, own_hosts: AbstractSet[str] = frozenset()) -> Referrer:
    """Classify a `Referer` value; never fails. Pages of the service itself, on `own_hosts`, are "Direct"."""
    host, classified = _referrer(value[:_LONGEST_REFERRER])
    return _DIRECT if host in own_hosts else classified


def language(accept_language: str) -> str:
    """Return the language that `Accept-Language` prefers, without its country, such as `de`; else "Unknown"."""
    languages = language_ranges.preferred(accept_language)
    return languages[0][0] if languages else UNKNOWN


def is_prefetch(purpose: str) -> bool:
    """Return whether a value of `Sec-Purpose`, `Purpose`, `X-Purpose` or `X-Moz` marks a prefetch."""
    return bool(purpose) and not _PREFETCHES.isdisjoint(part.strip() for part in re.split("[;,]", purpose[:64].lower()))


@lru_cache(maxsize=32_768)
def _agent(user_agent: str) -> Agent:
    decodable = user_agent.encode("utf-8", "replace").decode()  # ua-parser rejects lone surrogates
    lowered = decodable.lower()
    without_model = user_agents.MODEL.sub("()", lowered)
    words = set(_WORD.findall(without_model))
    if (preview := _preview(without_model, words)) is not None:
        return Agent("preview", preview, UNKNOWN, "Other")
    tool = _tool(without_model)
    if (bot := _bot(without_model, words, tool)) is not None:
        return Agent("bot", bot, UNKNOWN, "Other")
    family = _family(decodable) or _family(user_agents.MODEL.sub("()", decodable))
    is_ipad = "macintosh" in lowered and _contains_any(lowered, user_agents.IPAD_PARTS)
    system = "iOS" if is_ipad else _system(decodable, lowered)
    if tool is None and family is None and not user_agents.BROWSER.match(without_model):
        tool = UNKNOWN
    if tool is not None:
        return Agent("tool", tool, system, "Other")
    device = "Tablet" if is_ipad else _device(lowered)
    return Agent("human", _first_label(words, user_agents.APPS) or family or UNKNOWN, system, device)


def _preview(text: str, words: set[str]) -> str | None:
    """Return the name of a link preview, or None."""
    name = next((name for start, name in user_agents.PREVIEW_STARTS.items() if text.startswith(start)), None)
    name = name or _first_label(words, user_agents.PREVIEWS)
    return UNKNOWN if name is None and _contains_any(text, user_agents.PREVIEW_PARTS) else name


def _bot(text: str, words: set[str], tool: str | None) -> str | None:
    """Return the name of a bot, or None."""
    name = _first_label(words, user_agents.BOTS)
    if name is not None:
        return name
    if ("bot" in text and user_agents.BOT.search(text)) or _contains_any(text, user_agents.BOT_PARTS):
        return UNKNOWN
    if tool is None and (user_agents.ADDRESS.search(text) or user_agents.COMPATIBLE.search(text)):
        return UNKNOWN  # a contact address marks a bot, unless a library adds it by default
    return None


def _tool(text: str) -> str | None:
    """Return the name of a known tool, or None."""
    first_word = _WORD.match(text)
    return (user_agents.TOOLS.get(first_word[0]) if first_word else None) or _label_of_part(
        text, user_agents.TOOL_PARTS
    )


def _family(user_agent: str) -> str | None:
    browser = _parser().ua.extract(user_agent)
    return user_agents.BROWSERS.get(browser.family) if browser else None


def _system(user_agent: str, text: str) -> str:
    system = _parser().os.extract(user_agent)
    label = user_agents.SYSTEMS.get(system.family) if system else None
    return label or _label_of_part(text, user_agents.SYSTEM_PARTS) or UNKNOWN


def _device(text: str) -> Device:
    return next((device for device, parts in user_agents.DEVICES if _contains_any(text, parts)), "Other")


def _contains_any(text: str, parts: Sequence[str]) -> bool:
    return any(part in text for part in parts)


def _first_label(words: set[str], labels: Mapping[str, str]) -> str | None:
    present = words & labels.keys()
    return next((label for word, label in labels.items() if word in present), None) if present else None


def _label_of_part(text: str, labels: Mapping[str, str]) -> str | None:
    return next((label for part, label in labels.items() if part in text), None)


@cache
def _parser() -> Resolver:
    """Return ua-parser's Rust extractors. Its own result objects take longer than the search.

    Devices are left out: they are models, without limit, and take most of the memory.
    """
    user_agents, systems, _ = load_lazy_builtins()
    return Resolver((user_agents, systems, []))


@lru_cache(maxsize=16_384)
def _referrer(value: str) -> tuple[str, Referrer]:
    """Return the host of a page, and the referrer."""
    try:
        parts = urlsplit(value.strip())
        host = parts.hostname or ""
    except ValueError:
        return "", _DIRECT
    if parts.scheme == "android-app":
        label = label_tables.APPS.get(host) or _site_of_app(host) or (host if _APP.match(host) else DIRECT)
    elif parts.scheme in ("http", "https") and "\\" not in parts.netloc:  # browsers treat a backslash as a slash
        label = _site(host)
    else:
        return "", _DIRECT
    return ascii_host(host) or "", Referrer(label[:LONGEST_LABEL], label_tables.NETWORKS.get(label, ""))


@lru_cache(maxsize=16_384)
def _site(host: str) -> str:
    name = ascii_host(host)
    if not name:
        return DIRECT
    if _is_address(name):
        return name
    if ":" in name:
        return DIRECT
    domain = label_tables.HOSTS.get(name) or _suffixes().privatesuffix(name) or name
    return label_tables.DOMAINS.get(domain, domain)


def _site_of_app(app: str) -> str:
    """Return the site, if the id of an app is a host name such as `m.facebook.com`; else "".

    Ids begin with a top-level domain, such as `com.facebook.katana`, and host names end with one.
    """
    first, last = app.partition(".")[0], app.rpartition(".")[2]
    is_host = not _is_top_level(first) and _is_top_level(last)
    site = _site(app)
    return site if is_host or (_is_top_level(last) and site in _KNOWN_SITES) else ""


def _is_top_level(label: str) -> bool:
    return _suffixes().publicsuffix(label, accept_unknown=False) is not None


_KNOWN_SITES = frozenset({*label_tables.DOMAINS.values(), *label_tables.HOSTS.values(), *label_tables.APPS.values()})


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return "%" not in name


@cache
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList()

"""The thirteen providers of tracking pixels: where each one's script is, how it is started, whom it talks to.

`start` is the body of a JavaScript function of `tag` and `src`. In it `load(src, then)` fetches a script once and
`queue(name, method, list)` makes the function that keeps calls until the provider's script is there; both are in
templates/way.js.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import quote

from waypost.visits.interstitials import Pixel


def _whole(tag: str) -> str:
    return tag


def _first(tag: str) -> str:
    """AdRoll has two ids, written as `ADVERTISER/PIXEL`; a Google Ads tag may end in `/LABEL`."""
    return tag.partition("/")[0]


def _ads(tag: str) -> str:
    first = _first(tag)
    return f"AW-{first}" if first.isdigit() else first


@dataclass(frozen=True)
class Provider:
    """`address` has `{id}` where `id_of(tag)` belongs; `scripts`, `talks` and `frames` are sources of a policy."""

    name: str
    address: str
    start: str
    scripts: tuple[str, ...]
    talks: tuple[str, ...] = ()
    frames: tuple[str, ...] = ()
    id_of: Callable[[str], str] = _whole

    def script_of(self, tag: str) -> str:
        """The URL of the script for this tag."""
        return self.address.replace("{id}", quote(self.id_of(tag), safe=""))


_GTAG = """
window.dataLayer = window.dataLayer || [];
window.gtag = window.gtag || function () { window.dataLayer.push(arguments); };
window.gtag("js", new Date());
"""
_GOOGLE = "https://www.googletagmanager.com"

PROVIDERS: Mapping[str, Provider] = {
    "tagmanagerpixel": Provider(
        "Google Tag Manager",
        "https://www.googletagmanager.com/gtm.js?id={id}",
        """
window.dataLayer = window.dataLayer || [];
window.dataLayer.push({"gtm.start": Date.now(), event: "gtm.js"});
load(src);""",
        scripts=(_GOOGLE,),
        talks=(_GOOGLE, "https://*.google-analytics.com", "https://*.analytics.google.com"),
    ),
    "analyticspixel": Provider(
        "Google Analytics",
        "https://www.googletagmanager.com/gtag/js?id={id}",
        f'{_GTAG}window.gtag("config", tag);\nload(src);',
        scripts=(_GOOGLE,),
        talks=(_GOOGLE, "https://*.google-analytics.com", "https://*.analytics.google.com"),
    ),
    "socialapixel": Provider(
        "Facebook",
        "https://connect.facebook.net/en_US/fbevents.js",
        """
var fbq = queue("fbq", "callMethod", "queue");
window._fbq = window._fbq || fbq;
fbq.push = fbq;
fbq.loaded = true;
fbq.version = "2.0";
fbq("init", tag);
fbq("trackSingle", tag, "PageView");
load(src);""",
        scripts=("https://connect.facebook.net",),
        talks=("https://www.facebook.com", "https://connect.facebook.net"),
    ),
    "searchadspixel": Provider(
        "Google Ads",
        "https://www.googletagmanager.com/gtag/js?id={id}",
        _GTAG
        + """
var parts = tag.split("/");
if (/^[0-9]+$/.test(parts[0])) { parts[0] = "AW-" + parts[0]; }
window.gtag("config", parts[0]);
if (parts[1]) { window.gtag("event", "conversion", {send_to: parts.join("/")}); }
load(src);""",
        scripts=(_GOOGLE, "https://www.googleadservices.com", "https://googleads.g.doubleclick.net"),
        talks=(
            _GOOGLE,
            "https://www.googleadservices.com",
            "https://googleads.g.doubleclick.net",
            "https://www.google.com",
        ),
        frames=("https://td.doubleclick.net", _GOOGLE),
        id_of=_ads,
    ),
    "professionalpixel": Provider(
        "LinkedIn",
        "https://snap.licdn.com/li.lms-analytics/insight.min.js",
        """
window._linkedin_partner_id = tag;
window._linkedin_data_partner_ids = window._linkedin_data_partner_ids || [];
window._linkedin_data_partner_ids.push(tag);
if (!window.lintrk) {
  window.lintrk = function (name, data) { window.lintrk.q.push([name, data]); };
  window.lintrk.q = [];
}
load(src);""",
        scripts=("https://snap.licdn.com",),
        talks=("https://px.ads.linkedin.com", "https://px4.ads.linkedin.com", "https://snap.licdn.com"),
    ),
    "microblogpixel": Provider(
        "X (Twitter)",
        "https://static.ads-twitter.com/uwt.js",
        """
var twq = queue("twq", "exe", "queue");
twq.version = "1.1";
twq("config", tag);
load(src);""",
        scripts=("https://static.ads-twitter.com",),
        talks=("https://t.co", "https://analytics.twitter.com", "https://ads-twitter.com"),
    ),
    "retargetpixel": Provider(
        "AdRoll",
        "https://s.adroll.com/j/{id}/roundtrip.js",
        """
var ids = tag.split("/");
window.adroll_adv_id = ids[0];
window.adroll_pix_id = ids[1] || "";
window.adroll_version = "2.0";
window.__adroll_loaded = true;
var adroll = window.adroll = window.adroll || [];
adroll.f = ["setProperties", "identify", "track"];
adroll.f.forEach(function (name) {
  adroll[name] = adroll[name] || function () { adroll.push([name, arguments]); };
});
adroll.track("pageView");
load(src);""",
        scripts=("https://s.adroll.com", "https://d.adroll.com"),
        talks=("https://s.adroll.com", "https://d.adroll.com"),
        id_of=_first,
    ),
    "qapixel": Provider(
        "Quora",
        "https://a.quora.com/qevents.js",
        """
var qp = queue("qp", "qp", "queue");
qp("init", tag);
qp("track", "ViewContent");
load(src);""",
        scripts=("https://a.quora.com",),
        talks=("https://q.quora.com",),
    ),
    "boardpixel": Provider(
        "Pinterest",
        "https://s.pinimg.com/ct/core.js",
        """
if (!window.pintrk) {
  window.pintrk = function () { window.pintrk.queue.push(Array.prototype.slice.call(arguments)); };
  window.pintrk.queue = [];
  window.pintrk.version = "3.0";
}
window.pintrk("load", tag);
window.pintrk("page");
load(src);""",
        scripts=("https://s.pinimg.com", "https://ct.pinterest.com"),
        talks=("https://ct.pinterest.com",),
        frames=("https://ct.pinterest.com",),
    ),
    "searchenginepixel": Provider(
        "Microsoft Advertising",
        "https://bat.bing.com/bat.js",
        """
window.uetq = window.uetq || [];
load(src, function () {
  window.uetq = new window.UET({ti: tag, q: window.uetq});
  window.uetq.push("pageLoad");
});""",
        scripts=("https://bat.bing.com",),
        talks=("https://bat.bing.com", "https://bat.bing.net"),
    ),
    "ephemeralpixel": Provider(
        "Snapchat",
        "https://sc-static.net/scevent.min.js",
        """
var snaptr = queue("snaptr", "handleRequest", "queue");
snaptr("init", tag);
snaptr("track", "PAGE_VIEW");
load(src);""",
        scripts=("https://sc-static.net", "https://tr.snapchat.com"),
        talks=("https://tr.snapchat.com",),
        frames=("https://tr.snapchat.com",),
    ),
    "forumpixel": Provider(
        "Reddit",
        "https://www.redditstatic.com/ads/pixel.js",
        """
var rdt = queue("rdt", "sendEvent", "callQueue");
rdt("init", tag);
rdt("track", "PageVisit");
load(src);""",
        scripts=("https://www.redditstatic.com",),
        talks=("https://alb.reddit.com", "https://pixel-config.reddit.com", "https://www.redditstatic.com"),
    ),
    "shortvideopixel": Provider(
        "TikTok",
        "https://analytics.tiktok.com/i18n/pixel/events.js?sdkid={id}&lib=ttq",
        """
window.TiktokAnalyticsObject = "ttq";
var ttq = window.ttq = window.ttq || [];
ttq.methods = ["page", "track", "identify", "instances", "debug", "on", "off", "once", "ready", "alias", "group",
  "enableCookie", "disableCookie", "holdConsent", "revokeConsent", "grantConsent"];
ttq.setAndDefer = function (target, name) {
  target[name] = function () { target.push([name].concat(Array.prototype.slice.call(arguments))); };
};
ttq.methods.forEach(function (name) { ttq.setAndDefer(ttq, name); });
ttq.instance = function (id) {
  var one = ttq._i[id] || [];
  ttq.methods.forEach(function (name) { ttq.setAndDefer(one, name); });
  return one;
};
ttq._i = ttq._i || {};
ttq._i[tag] = [];
ttq._i[tag]._u = src.split("?")[0];
ttq._t = ttq._t || {};
ttq._t[tag] = Date.now();
ttq._o = ttq._o || {};
ttq._o[tag] = {};
ttq.page();
load(src);""",
        scripts=("https://analytics.tiktok.com",),
        talks=("https://analytics.tiktok.com",),
    ),
}


def used(pixels: Iterable[Pixel]) -> list[Provider]:
    """The providers that the pixels need, each once."""
    return [PROVIDERS[kind] for kind in dict.fromkeys(pixel.type for pixel in pixels)]


def starts(pixels: Iterable[Pixel]) -> str:
    """The JavaScript object of functions that start these pixels, by type. Nothing of it comes from an account."""
    bodies = {pixel.type: PROVIDERS[pixel.type].start for pixel in pixels}
    return "{" + ",\n".join(f'"{kind}": function (tag, src) {{{body}\n}}' for kind, body in bodies.items()) + "}"

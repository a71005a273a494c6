"""The thirteen providers of tracking pixels: script URL, start code, and the origins each one needs.

`start_script` is the body of a JavaScript function of `tag` and `src`. It can call `load(src, then)`, which loads a
script once, and `queue(name, method, list)`, which creates a function that stores calls until the provider's script
has loaded; both are in templates/interstitial.js.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import quote

from waypost.visits.link_record import Pixel


def _whole_tag(tag: str) -> str:
    return tag


def _first_part(tag: str) -> str:
    """Return the first id of a tag: AdRoll's are `ADVERTISER/PIXEL`, a Google Ads tag can end in `/LABEL`."""
    return tag.partition("/")[0]


def _google_ads_id(tag: str) -> str:
    first = _first_part(tag)
    return f"AW-{first}" if first.isdigit() else first


@dataclass(frozen=True)
class Provider:
    """A provider. `script_url` contains `{id}` for `id_of(tag)`; the `_sources` are sources of a policy."""

    name: str
    script_url: str
    start_script: str
    script_sources: tuple[str, ...]
    connect_sources: tuple[str, ...] = ()
    frame_sources: tuple[str, ...] = ()
    id_of: Callable[[str], str] = _whole_tag

    def script_for(self, tag: str) -> str:
        """Return the URL of the provider's script for a tag."""
        return self.script_url.replace("{id}", quote(self.id_of(tag), safe=""))


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
        script_sources=(_GOOGLE,),
        connect_sources=(_GOOGLE, "https://*.google-analytics.com", "https://*.analytics.google.com"),
    ),
    "analyticspixel": Provider(
        "Google Analytics",
        "https://www.googletagmanager.com/gtag/js?id={id}",
        f'{_GTAG}window.gtag("config", tag);\nload(src);',
        script_sources=(_GOOGLE,),
        connect_sources=(_GOOGLE, "https://*.google-analytics.com", "https://*.analytics.google.com"),
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
        script_sources=("https://connect.facebook.net",),
        connect_sources=("https://www.facebook.com", "https://connect.facebook.net"),
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
        script_sources=(_GOOGLE, "https://www.googleadservices.com", "https://googleads.g.doubleclick.net"),
        connect_sources=(
            _GOOGLE,
            "https://www.googleadservices.com",
            "https://googleads.g.doubleclick.net",
            "https://www.google.com",
        ),
        frame_sources=("https://td.doubleclick.net", _GOOGLE),
        id_of=_google_ads_id,
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
        script_sources=("https://snap.licdn.com",),
        connect_sources=("https://px.ads.linkedin.com", "https://px4.ads.linkedin.com", "https://snap.licdn.com"),
    ),
    "microblogpixel": Provider(
        "X (Twitter)",
        "https://static.ads-twitter.com/uwt.js",
        """
var twq = queue("twq", "exe", "queue");
twq.version = "1.1";
twq("config", tag);
load(src);""",
        script_sources=("https://static.ads-twitter.com",),
        connect_sources=("https://t.co", "https://analytics.twitter.com", "https://ads-twitter.com"),
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
        script_sources=("https://s.adroll.com", "https://d.adroll.com"),
        connect_sources=("https://s.adroll.com", "https://d.adroll.com"),
        id_of=_first_part,
    ),
    "qapixel": Provider(
        "Quora",
        "https://a.quora.com/qevents.js",
        """
var qp = queue("qp", "qp", "queue");
qp("init", tag);
qp("track", "ViewContent");
load(src);""",
        script_sources=("https://a.quora.com",),
        connect_sources=("https://q.quora.com",),
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
        script_sources=("https://s.pinimg.com", "https://ct.pinterest.com"),
        connect_sources=("https://ct.pinterest.com",),
        frame_sources=("https://ct.pinterest.com",),
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
        script_sources=("https://bat.bing.com",),
        connect_sources=("https://bat.bing.com", "https://bat.bing.net"),
    ),
    "ephemeralpixel": Provider(
        "Snapchat",
        "https://sc-static.net/scevent.min.js",
        """
var snaptr = queue("snaptr", "handleRequest", "queue");
snaptr("init", tag);
snaptr("track", "PAGE_VIEW");
load(src);""",
        script_sources=("https://sc-static.net", "https://tr.snapchat.com"),
        connect_sources=("https://tr.snapchat.com",),
        frame_sources=("https://tr.snapchat.com",),
    ),
    "forumpixel": Provider(
        "Reddit",
        "https://www.redditstatic.com/ads/pixel.js",
        """
var rdt = queue("rdt", "sendEvent", "callQueue");
rdt("init", tag);
rdt("track", "PageVisit");
load(src);""",
        script_sources=("https://www.redditstatic.com",),
        connect_sources=("https://alb.reddit.com", "https://pixel-config.reddit.com", "https://www.redditstatic.com"),
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
        script_sources=("https://analytics.tiktok.com",),
        connect_sources=("https://analytics.tiktok.com",),
    ),
}


def providers_of(pixels: Iterable[Pixel]) -> list[Provider]:
    """Return the providers of some pixels, without duplicates."""
    return [PROVIDERS[kind] for kind in dict.fromkeys(pixel.type for pixel in pixels)]


def start_functions(pixels: Iterable[Pixel]) -> str:
    """Return a JavaScript object of functions that start these pixels, by type. It contains no user input."""
    bodies = {pixel.type: PROVIDERS[pixel.type].start_script for pixel in pixels}
    return "{" + ",\n".join(f'"{kind}": function (tag, src) {{{body}\n}}' for kind, body in bodies.items()) + "}"

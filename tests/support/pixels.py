"""Scripts of the pixel providers."""

PROVIDER_SCRIPTS = {
    "tagmanagerpixel": ("https://www.googletagmanager.com/gtm.js?id=TAG-1", '"gtm.start"'),
    "analyticspixel": ("https://www.googletagmanager.com/gtag/js?id=TAG-1", 'gtag("config", tag)'),
    "socialapixel": ("https://connect.facebook.net/en_US/fbevents.js", 'fbq("init", tag)'),
    "searchadspixel": ("https://www.googletagmanager.com/gtag/js?id=TAG-1", 'gtag("config", parts[0])'),
    "professionalpixel": ("https://snap.licdn.com/li.lms-analytics/insight.min.js", "_linkedin_partner_id = tag"),
    "microblogpixel": ("https://static.ads-twitter.com/uwt.js", 'twq("config", tag)'),
    "retargetpixel": ("https://s.adroll.com/j/TAG-1/roundtrip.js", "adroll_adv_id = ids[0]"),
    "qapixel": ("https://a.quora.com/qevents.js", 'qp("init", tag)'),
    "boardpixel": ("https://s.pinimg.com/ct/core.js", 'pintrk("load", tag)'),
    "searchenginepixel": ("https://bat.bing.com/bat.js", "new window.UET({ti: tag"),
    "ephemeralpixel": ("https://sc-static.net/scevent.min.js", 'snaptr("init", tag)'),
    "forumpixel": ("https://www.redditstatic.com/ads/pixel.js", 'rdt("init", tag)'),
    "shortvideopixel": (
        "https://analytics.tiktok.com/i18n/pixel/events.js?sdkid=TAG-1&lib=ttq",
        "ttq._i[tag]",
    ),
}
"""The documented URL of the script for the tag TAG-1, and the call that starts it, by type of pixel."""

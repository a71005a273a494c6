"""Every endpoint of section 4 of the API document, and of the decisions that extend it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.contract.shapes import (
    ACCOUNT,
    BIO,
    CAMPAIGN,
    CAMPAIGN_DETAILS,
    CHANNEL,
    DELIVERY,
    DOMAIN,
    DOMAIN_DETAILS,
    FILE,
    FILE_DETAILS,
    IMPORT,
    ITEM,
    LINK,
    LINK_DETAILS,
    OVERLAY,
    OVERLAY_ITEM,
    PIXEL,
    QR,
    QR_DETAILS,
    SENTENCE,
    SHARE,
    SPLASH,
    SPLASH_ITEM,
    STATISTICS,
    TIMESTAMP,
    URL,
    UTM,
    WEBHOOK,
    Shape,
)
from tests.support.qr_decoders import LOGO
from tests.support.visits import DESTINATION

ItemIds = Mapping[str, int]


@dataclass(frozen=True)
class Row:
    """An endpoint of the HTTP contract: its request, and its response without `error`."""

    name: str
    answer: Shape
    body: Any = None
    status: int = 200
    content: bytes | None = None

    def path(self, item_ids: ItemIds) -> str:
        """Return the path with the ids of resources of Ana."""
        noun = self.name.split("/")[1].partition("?")[0]
        ids = {":id": noun, ":campaignid": "campaign", ":linkid": "url", ":channelid": "channel", ":itemid": "url"}
        parts = ("links" if part == ":type" else part for part in self.name.split(" ")[1].split("/"))
        return "/".join(str(item_ids[ids[part]]) if part in ids else part for part in parts)

    def __str__(self) -> str:
        return self.name


PAGING: Shape = {"result": 1, "perpage": 15, "currentpage": 1, "nextpage": None, "maxpage": 1}


def _list(key: str, item: Shape) -> Shape:
    return {"data": {**PAGING, key: [item]}}


DONE: Shape = {"message": SENTENCE}
CREATED: Shape = {"id": int}
UPLOADED: Shape = {"id": int, "1": int, "shorturl": URL, "deleteurl": URL}
NEW_SPLASH = {"name": "New", "title": "Wait", "message": "A little", "counter": 3, "link": DESTINATION}
NEW_OVERLAY = {"name": "New", "type": "coupon", "code": "TEN", "message": "Ten off", "delay": 2}
NEW_QR = {
    "type": "link",
    "data": DESTINATION,
    "background": "rgb(255,250,240)",
    "foreground": "rgb(20,30,90)",
    "logo": LOGO,
    "name": "New",
}

DOCUMENT = (
    Row("GET /account", {"data": ACCOUNT}),
    Row("PUT /account/update", DONE, {"email": "new@example.com", "password": "a new password"}),
    Row("GET /files", {**PAGING, "list": [FILE]}),
    Row("POST /files/upload/:filename", UPLOADED, content=b"content"),
    Row("GET /campaigns", _list("campaigns", CAMPAIGN)),
    Row("POST /campaign/add", {**CAMPAIGN, "rotator": URL}, {"name": "New", "slug": "fresh", "public": True}, 201),
    Row("POST /campaign/:campaignid/assign/:linkid", DONE),
    Row("PUT /campaign/:id/update", {**CAMPAIGN, "rotator": URL}, {"name": "Else", "slug": "other", "public": False}),
    Row("DELETE /campaign/:id/delete", DONE),
    Row("GET /splash", _list("splash", SPLASH_ITEM)),
    Row("GET /qr", _list("qrs", QR)),
    Row("GET /qr/:id", {"details": QR_DETAILS, "data": STATISTICS}),
    Row("POST /qr/add", {"id": int, "link": URL}, NEW_QR),
    Row("PUT /qr/:id/update", DONE, {"data": {"link": DESTINATION}, "type": "link", "foreground": "rgb(1,2,3)"}),
    Row("DELETE /qr/:id/delete", DONE),
    Row("GET /channels", _list("channels", CHANNEL)),
    Row("GET /channel/:id", _list("items", ITEM)),
    Row(
        "POST /channel/add",
        {**DONE, **CHANNEL},
        {"name": "New", "description": "News and offers", "color": "#00FF7f", "starred": True},
    ),
    Row("POST /channel/:channelid/assign/:type/:itemid", DONE),
    Row("PUT /channel/:id/update", {**DONE, **CHANNEL}, {"name": "Else", "color": "#FFFFFF", "starred": False}),
    Row("DELETE /channel/:id/delete", DONE),
    Row("GET /pixels", _list("pixels", PIXEL)),
    Row("POST /pixel/add", CREATED, {"type": "boardpixel", "name": "New", "tag": "26/b-1"}),
    Row("PUT /pixel/:id/update", DONE, {"name": "Else", "tag": "G-2"}),
    Row("DELETE /pixel/:id/delete", DONE),
    Row("GET /domains", _list("domains", DOMAIN)),
    Row(
        "POST /domain/add",
        CREATED,
        {"domain": "https://new.example", "redirectroot": DESTINATION, "redirect404": DESTINATION},
    ),
    Row("PUT /domain/:id/update", DONE, {"redirectroot": DESTINATION, "redirect404": DESTINATION}),
    Row("DELETE /domain/:id/delete", DONE),
    Row("GET /overlay", _list("cta", OVERLAY_ITEM)),
)
DECISIONS = (
    Row("GET /shares", _list("shares", SHARE)),
    Row("GET /share/:id", {"details": SHARE}),
    Row("POST /share/add", {**DONE, **SHARE}, {"type": "link", "itemid": 1, "password": "tulip", "days": 30}),
    Row("PUT /share/:id/update", {**DONE, **SHARE}, {"title": "Spring", "slug": "spring-sale"}),
    Row("DELETE /share/:id/delete", DONE),
    Row("GET /webhooks", _list("webhooks", WEBHOOK)),
    Row("GET /webhook/:id", {"details": WEBHOOK}),
    Row(
        "POST /webhook/add",
        {**DONE, **WEBHOOK, "secret": str},
        {"url": "https://hooks.example.com/", "events": ["link.*"]},
    ),
    Row("PUT /webhook/:id/update", {**DONE, **WEBHOOK}, {"title": "Shop"}),
    Row("POST /webhook/:id/rotate", {**DONE, **WEBHOOK, "secret": str}),
    Row("POST /webhook/:id/test", {**DONE, "delivery": int}),
    Row("GET /webhook/:id/deliveries", _list("deliveries", DELIVERY)),
    Row("POST /webhook/:id/replay", {**DONE, "result": int}, {}),
    Row("DELETE /webhook/:id/delete", DONE),
    Row("PUT /files/upload/:filename", UPLOADED, content=b"content"),
    Row("GET /file/:id", {"details": FILE_DETAILS}),
    Row("PUT /file/:id/update", DONE, {"name": "Else", "maxdownloads": 5}),
    Row("DELETE /file/:id/delete", DONE),
    Row("GET /campaign/:id", {"details": CAMPAIGN_DETAILS}),
    Row("GET /pixel/:id", {"details": PIXEL}),
    Row("GET /utms", _list("utms", UTM)),
    Row("GET /utm/:id", {"details": UTM}),
    Row("POST /utm/add", {**DONE, **UTM}, {"name": "New", "utm_source": "newsletter"}),
    Row("PUT /utm/:id/update", {**DONE, **UTM}, {"utm_source": None}),
    Row("DELETE /utm/:id/delete", DONE),
    Row("GET /domain/:id", {"details": DOMAIN_DETAILS}),
    Row("GET /splash/:id", {"details": SPLASH}),
    Row("POST /splash/add", CREATED, NEW_SPLASH),
    Row("PUT /splash/:id/update", DONE, {"counter": 9}),
    Row("DELETE /splash/:id/delete", DONE),
    Row("GET /overlay/:id", {"details": OVERLAY}),
    Row("POST /overlay/add", CREATED, NEW_OVERLAY),
    Row("PUT /overlay/:id/update", DONE, {"delay": 9}),
    Row("DELETE /overlay/:id/delete", DONE),
    Row("GET /urls", _list("urls", LINK)),
    Row("GET /url/:id", {"details": LINK_DETAILS, "data": STATISTICS}),
    Row("POST /url/add", {"id": int, "shorturl": URL, "short": URL}, {"url": DESTINATION, "custom": "new-link"}),
    Row("PUT /url/:id/update", {**DONE, "id": int, "shorturl": URL, "short": URL}, {"title": "Else"}),
    Row("DELETE /url/:id/delete", DONE),
    Row("GET /bios", _list("bios", BIO)),
    Row(
        "GET /bio/:id",
        {
            "details": {
                **BIO,
                "avatar": str,
                "design": None,
                "sensitive": bool,
                "blocks": [{"type": "link", "title": "Shop", "url": URL}],
            },
            "data": STATISTICS,
            "blocks": [
                {**dict.fromkeys(("id", "clicks", "uniqueClicks"), int), "type": "link", "title": "Shop", "url": URL}
            ],
        },
    ),
    Row("POST /bio/add", {"id": int, "shorturl": URL}, {"name": "New", "alias": "new-bio"}),
    Row("PUT /bio/:id/update", DONE, {"title": "Else"}),
    Row("DELETE /bio/:id/delete", DONE),
    Row("POST /import/add", {"details": IMPORT}, {"service": "kutt", "url": "http://127.0.0.1:1", "token": "x"}),
    Row("DELETE /admin/account/:id/delete", {**DONE, "deletion": TIMESTAMP}),
    Row("POST /admin/account/:id/cancel-deletion", DONE),
    Row("POST /admin/account/:id/remove-two-factor", DONE),
)

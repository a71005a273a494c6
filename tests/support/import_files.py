"""Files of other services, in the formats of their dumps, databases and exports."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

SHOP = "https://example.com/shop"
PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5"
    "ErkJggg=="
)
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
DUMP = rf"""-- MySQL dump 10.13
DROP TABLE IF EXISTS `my_log`;
INSERT INTO `my_log` VALUES (1,'2012-03-05 00:00:00','a','direct','{FIREFOX}','192.0.2.1','DE'),
(2,'2012-03-05 00:10:00','a','https://news.example.com/','Googlebot/2.1','192.0.2.1','US');
INSERT INTO `my_options` VALUES (1,'text','INSERT INTO `my_url` VALUES (\'no\',\'{SHOP}\',\'\',\'\',\'\',1);');
INSERT INTO `my_url` (`keyword`, `url`, `title`, `timestamp`, `ip`, `clicks`) VALUES
('a','{SHOP}','It\'s; (a) ''test''\nline','2012-03-04 05:06:07','192.0.2.1',42),('b'
,'{SHOP}/b',NULL,'2011-03-04 05:06:07','',0);
"""
"""A dump of YOURLS: one of the two visits of `a` is by a bot, `b` has neither a title nor visits."""


def kutt(path: Path) -> Path:
    """Write a database of Kutt: links with clicks by hour, with a password, and on a domain, banned there."""
    with closing(sqlite3.connect(path)) as tables:
        tables.executescript("""
            CREATE TABLE domains (id INTEGER PRIMARY KEY, address TEXT);
            CREATE TABLE links (id INTEGER PRIMARY KEY, uuid TEXT, address TEXT, description TEXT, banned BOOLEAN,
              domain_id INTEGER, password TEXT, expire_in TEXT, target TEXT, visit_count INTEGER, created_at TEXT);
            CREATE TABLE visits (link_id INTEGER, created_at TEXT, total INTEGER, br_chrome INTEGER, br_firefox INTEGER,
              os_windows INTEGER, countries TEXT, referrers TEXT);
            INSERT INTO links VALUES (1, 'u1', 'x', 'note', 0, NULL, NULL, NULL, 'https://example.com/shop', 7,
              '2024-01-02 03:04:05');
            INSERT INTO links VALUES (2, 'u2', 'locked', '', 0, NULL, '$2a$12$abc', NULL, 'https://example.com/', 0,
              1700000000000);
            INSERT INTO domains VALUES (7, 'links.example.com');
            INSERT INTO links VALUES (3, 'u3', 'branded', '', 1, 7, NULL, '2030-01-01 00:00:00',
              'https://example.com/shop', 0, '2024-01-02 03:04:05');
            INSERT INTO visits VALUES (1, '2024-01-03 10:00:00', 3, 2, 1, 3, '{"DE": 2, "FR": 1}',
              '{"news[dot]example[dot]com": 1}');
            INSERT INTO visits VALUES (1, '2024-01-04 10:00:00', 2, 0, 0, 0, 'damaged', NULL);
        """)
    return path


def chhoto(path: Path) -> Path:
    """Write a database of Chhoto URL with one link."""
    columns = "id INTEGER PRIMARY KEY, long_url, short_url, hits INTEGER, expiry_time INTEGER, notes TEXT"
    with closing(sqlite3.connect(path)) as tables:
        tables.execute(f"CREATE TABLE urls ({columns})")
        tables.execute("INSERT INTO urls VALUES (1, ?, 'x', 5, 1893456000, 'note')", (SHOP,))
        tables.commit()
    return path


def linkstack(**account: Any) -> str:
    """Return an export of LinkStack with every kind of block, one of them with an impossible destination."""
    links = [
        {"link": None, "title": "About", "button_id": 42, "order": 1, "click_number": 0},
        {
            "link": SHOP,
            "title": "Shop",
            "button_id": 2,
            "order": 0,
            "click_number": 9,
            "custom_css": "color:red",
            "custom_icon": "fa-shop",
        },
        {"link": None, "title": "<b>Text</b><script>x</script>", "button_id": 93, "order": 2, "click_number": 0},
        {
            "link": "https://social.example.com/@ana",
            "title": "Mastodon",
            "button_id": 30,
            "order": 3,
            "click_number": 4,
        },
        {"link": "javascript:alert(1)", "title": "Bad", "button_id": 2, "order": 4, "click_number": 1},
        {"link": "mailto:ana@example.com", "title": "Mail", "button_id": 6, "order": 5, "click_number": 0},
        {"link": None, "button_id": 43, "order": 6},
    ]
    values = {"id": 1, "name": "Ana", "littlelink_name": "ana", "littlelink_description": "<p>Hello</p><p>you</p>"}
    values["created_at"] = "2022-01-01T00:00:00.000000Z"
    return json.dumps({**values, "theme": "galaxy", "links": links, "image_data": "iVBO", **account})


def linktree(*, is_html: bool = True, **account: Any) -> str:
    """Return a page of Linktree as a browser saves it, or its data alone, with every kind of block."""
    links = [
        {"id": 2, "type": "CLASSIC", "title": "Shop", "position": 1, "url": SHOP, "modifiers": {"thumbnailUrl": PIXEL}},
        {"id": 1, "type": "HEADER", "title": "My work", "position": 0, "url": ""},
        {"id": 3, "type": "GROUP", "title": "Prints", "position": 2, "url": None},
        {"id": 4, "type": "CLASSIC", "title": "Blue", "position": 0, "url": f"{SHOP}?c=blue", "parent": {"id": 3}},
        {"id": 5, "type": "CLASSIC", "title": "Bad", "position": 3, "url": "javascript:alert(1)"},
        {
            "id": 6,
            "type": "CLASSIC",
            "title": "Far",
            "position": 4,
            "url": SHOP,
            "thumbnail": "https://a.example/a.png",
        },
        {"id": 7, "type": "CLASSIC", "title": "Adults", "position": 5, "url": SHOP, "locked": {"type": "AGE"}},
        {"id": 8, "type": "SHOP", "title": "Nothing", "position": 6, "url": ""},
    ]
    profiles = [
        {"type": "INSTAGRAM", "url": "https://instagram.com/ana"},
        {"type": "EMAIL_ADDRESS", "url": "mailto:ana@example.com"},
    ]
    values = {
        "id": 17,
        "username": "ana.costa",
        "pageTitle": "Ana Costa",
        "description": "Bowls & cups",
        "tier": "free",
    }
    values |= {"createdAt": 1_626_003_091_000, "links": links, "socialLinks": profiles, "contentWarning": None}
    data = {
        "props": {"pageProps": {"account": {**values, **account}, "profilePictureUrl": PIXEL}},
        "page": "/[profile]",
    }
    text = json.dumps(data)
    if not is_html:
        return text
    script = f'<script id="__NEXT_DATA__" type="application/json" crossorigin="anonymous">{text}</script>'
    return f"<!DOCTYPE html>\n<html><head><title>Ana</title></head><body><a href='#'>Shop</a>{script}</body></html>"

"""The sheets of QR codes, bio pages, files, domains, interstitials, and responses of visitors."""

from sqlalchemy import func

from waypost.db.schema import (
    bio_blocks,
    bio_pictures,
    bios,
    domains,
    files,
    overlays,
    pixels,
    qrs,
    splashes,
    submissions,
    utm_templates,
)
from waypost.exports.link_sheets import CREATED, HOST, with_short_url
from waypost.exports.sheets import Column, Sheet, as_hex, as_time, of
from waypost.urls.utm import NAMES

_QR_CODES = Sheet(
    "qr_codes",
    "QR codes. Their pictures are in qr/ID.svg, their logos in qr/ID-logo.png.",
    qrs,
    [
        *of(
            qrs,
            {
                "id": "Id, which is the name of the picture.",
                "name": "Name.",
                "alias": "Alias.",
                "type": "Type of the content.",
                "data": "Content, as JSON.",
                "dynamic": "True if the code contains the short URL, so that scans are counted.",
                "foreground": "Color of the modules.",
                "background": "Color of the background.",
                "gradient": "Gradient of the modules, as JSON; empty for none.",
                "modules": "Shape of the modules.",
                "eyes": "Shape of the eyes.",
                "level": "Error correction.",
                "margin": "Quiet zone, in modules.",
                "caption": "Text below the code.",
            },
        ),
        Column("haslogo", "True if the code has a logo.", func.coalesce(func.length(qrs.c.logo), 0) > 0),
        *of(
            qrs,
            {
                "version": "Number of changes, plus one.",
                "scans": "Scans.",
                "uniquescans": "Scans of distinct visitors of a day.",
                "created": CREATED,
            },
            created=as_time,
        ),
    ],
)

_BIOS = Sheet(
    "bio_pages",
    "Bio pages.",
    bios,
    of(
        bios,
        {
            "id": "Id.",
            "name": "Name.",
            "alias": "Alias.",
            "title": "Title.",
            "description": "Description.",
            "theme": "Theme.",
            "avatar": "Name of the picture above the heading, in the folder bio; empty for none.",
            "design": "Own colors and background, as JSON; empty for those of the theme.",
            "blocks": "Blocks of the page, as JSON.",
            "sensitive": "True if visitors must confirm a warning.",
            "clicks": "Visits.",
            "uniqueclicks": "Visits of distinct visitors of a day.",
            "created": CREATED,
        },
        created=as_time,
    ),
)

_BIO_BLOCKS = Sheet(
    "bio_blocks",
    "Clicks of the links in bio pages.",
    bio_blocks,
    of(
        bio_blocks,
        {
            "id": "Id, which the blocks of the page contain.",
            "bio": "Id of the bio page.",
            "clicks": "Clicks.",
            "uniqueclicks": "Clicks of distinct visitors of a day.",
        },
    ),
)

_BIO_PICTURES = Sheet(
    "bio_pictures",
    "Pictures of bio pages. They are in bio/picture-ID.webp.",
    bio_pictures,
    of(bio_pictures, {"id": "Id, with which the name ends.", "bio": "Id of the bio page."}),
)

_FILES = Sheet(
    "files",
    "Files. Their bytes are in files/ID-NAME, unless they were deleted after the expiry.",
    files,
    [
        *of(files, {"id": "Id, with which the name of the entry begins."}),
        Column("shorturl", "Short URL."),
        *of(
            files,
            {
                "host": HOST,
                "alias": "Alias.",
                "name": "Title.",
                "filename": "Name of the file.",
                "size": "Size in bytes.",
                "sha256": "SHA-256 of the bytes, hexadecimal.",
                "mime": "Media type.",
            },
            sha256=as_hex,
        ),
        Column("haspassword", "True if visitors must enter a password.", files.c.password.is_not(None)),
        *of(
            files,
            {
                "expiry": "Last second in which the file can be downloaded, UTC; empty for none.",
                "maxdownloads": "Downloads after which the file is expired; empty for none.",
                "taken": "Downloads that count toward the limit.",
                "downloads": "Downloads.",
                "uniquedownloads": "Downloads of distinct visitors of a day.",
                "ended": "Time when the expiry was noted, UTC.",
                "purged": "Time when the bytes were deleted, UTC.",
                "created": CREATED,
            },
            expiry=as_time,
            ended=as_time,
            purged=as_time,
            created=as_time,
        ),
    ],
    joined=files.outerjoin(domains, domains.c.host == files.c.host),
    hidden=[domains.c.scheme],
    derive=with_short_url,
)

_DOMAINS = Sheet(
    "domains",
    "Branded domains.",
    domains,
    of(
        domains,
        {
            "id": "Id.",
            "host": "Host name.",
            "scheme": "http or https.",
            "redirectroot": "Destination of the domain without a path.",
            "redirect404": "Destination of unknown aliases.",
            "ignorecase": "True if aliases ignore case.",
            "brandname": "Name on the pages of the domain.",
            "brandcolor": "Color of the pages of the domain.",
            "brandlogo": "Logo on the pages of the domain, a PNG as a data: URL.",
            "created": CREATED,
        },
        created=as_time,
    ),
)

_SPLASHES = Sheet(
    "splash_pages",
    "Splash pages.",
    splashes,
    of(
        splashes,
        {
            "id": "Id.",
            "name": "Name.",
            "title": "Title.",
            "message": "Text.",
            "counter": "Seconds until visitors are redirected.",
            "skip": "Seconds until visitors can skip the page.",
            "link": "URL of the button.",
            "banner": "URL of the banner.",
            "logo": "URL of the logo.",
            "created": CREATED,
        },
        created=as_time,
    ),
)

_OVERLAYS = Sheet(
    "overlays",
    "CTA overlays.",
    overlays,
    of(
        overlays,
        {
            "id": "Id.",
            "name": "Name.",
            "type": "Type, such as message or poll.",
            "message": "Text.",
            "label": "Label.",
            "link": "URL of the button.",
            "position": "Position on the page.",
            "color": "Color of the text.",
            "background": "Color of the background.",
            "delay": "Seconds until it appears.",
            "button": "Text of the button.",
            "thanks": "Text after a response.",
            "options": "Options of a poll, as JSON.",
            "code": "Coupon code.",
            "image": "URL of the image.",
            "webhook": "URL that gets the responses.",
            "created": CREATED,
        },
        created=as_time,
    ),
)

_SUBMISSIONS = Sheet(
    "submissions",
    "Responses of visitors to overlays.",
    submissions,
    of(
        submissions,
        {
            "id": "Id.",
            "overlay": "Id of the overlay.",
            "link": "Id of the link.",
            "name": "Name of the visitor.",
            "email": "E-mail address of the visitor.",
            "message": "Message.",
            "choice": "Option of a poll.",
            "created": "Time of the response, UTC.",
        },
        created=as_time,
    ),
)

_PIXELS = Sheet(
    "pixels",
    "Tracking pixels.",
    pixels,
    of(
        pixels,
        {"id": "Id.", "type": "Provider.", "name": "Name.", "tag": "Id at the provider.", "created": CREATED},
        created=as_time,
    ),
)

_UTM_TEMPLATES = Sheet(
    "utm_templates",
    "UTM templates.",
    utm_templates,
    of(
        utm_templates,
        {"id": "Id.", "name": "Name.", **{name: f"Value of {name}." for name in NAMES}, "created": CREATED},
        created=as_time,
    ),
)

SHEETS = (
    _QR_CODES,
    _BIOS,
    _BIO_BLOCKS,
    _BIO_PICTURES,
    _FILES,
    _DOMAINS,
    _SPLASHES,
    _OVERLAYS,
    _PIXELS,
    _UTM_TEMPLATES,
    _SUBMISSIONS,
)

"""Rendered codes are readable: all pairs of options, by three independent decoders."""

import itertools
import random
import sys
import zlib
from collections.abc import Callable
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.qr_decoders import by_zbar, opencv, opened, png, zxing
from tests.support.server import at_once
from waypost.core.errors import Problem
from waypost.core.settings import Settings
from waypost.items.qr.service import own_copy
from waypost.media.qrcode import layout, payloads, render
from waypost.media.qrcode.encode import encode
from waypost.media.qrcode.layout import cannot_write
from waypost.media.qrcode.outlines import Corner, loops, outlines, runs
from waypost.media.qrcode.render import Drawing, design
from waypost.media.qrcode.styles import Eyes, Gradient, Level, Modules, Style

SETTINGS = Settings(base_url="https://go.example.com")
CONTENTS: dict[payloads.Type, Any] = {
    "text": "Grüße aus 東京 🦊",
    "vcard": {"fname": "Ana", "lname": "Costa", "phone": "+49301234567", "email": "ana@example.com"},
    "link": "https://example.com/page?a=b",
    "email": {"email": "ana@example.com", "subject": "Hello", "body": "One\nTwo"},
    "phone": "+49301234567",
    "sms": {"phone": "+49301234567", "message": "Hi there"},
    "wifi": {"ssid": 'Ca"fe;', "pass": "secret:words,", "encryption": "WPA"},
    "event": {"title": "Tea", "start": "2030-05-01 15:00:00"},
    "geo": "52.52,13.405",
    "whatsapp": {"phone": "+491701234567", "message": "Hi"},
    "app": "https://apps.apple.com/app/id1",
    "crypto": "bitcoin:1BoatSLRHtKNngkdXEeobR76b53LETtpyT?amount=0.1",
}
CHOICES: dict[str, tuple[Any, ...]] = {
    "type": payloads.TYPES,
    "level": get_args(Level),
    "modules": get_args(Modules),
    "eyes": get_args(Eyes),
    "colors": (
        ("#000000", "#ffffff"),
        ("#0b3d91", "#fff6e0"),
        ("#b00020", "#ffffff"),
        ("#222222", "#9ad0a0"),
        ("#767676", "#ffffff"),
    ),
    "gradient": (None, Gradient("#802040"), Gradient("#004d40", "radial"), Gradient("#333333", "linear", 200)),
    "logo": (None, *map(own_copy, (png(), png(300, height=120), png(80, kind="JPEG")))),
    "caption": ("", "SCAN ME", "Für Köln & Москва"),
    "margin": (2, 4, 9),
}
LOGO_LEVELS = ("auto", "H")
ROUND_EYES = ("circle", "soft", "leaf")


def _pairs() -> list[dict[str, Any]]:
    """Codes that cover every pair of option values, chosen greedily."""
    names = list(CHOICES)
    left = {
        (one, a, other, b)
        for one, other in itertools.combinations(names, 2)
        for a in range(len(CHOICES[one]))
        for b in range(len(CHOICES[other]))
        if not _impossible({one: a, other: b})
    }
    chance, codes = random.Random(7), []
    while left:
        one, a, other, b = min(left)
        best: tuple[int, dict[str, int]] = (-1, {})
        for _ in range(30):
            code = {name: chance.randrange(len(CHOICES[name])) for name in names} | {one: a, other: b}
            if not _impossible(code):
                best = max(best, (len(left & _covered(code)), code), key=lambda result: result[0])
        if best[0] <= 0:
            continue
        left -= _covered(best[1])
        codes.append({name: CHOICES[name][place] for name, place in best[1].items()})
    return codes


def _covered(code: dict[str, int]) -> set[tuple[str, int, str, int]]:
    return {(one, code[one], other, code[other]) for one, other in itertools.combinations(code, 2)}


def _impossible(code: dict[str, int]) -> bool:
    """A logo needs a level that can do without what it hides."""
    return bool(code.get("logo")) and "level" in code and CHOICES["level"][code["level"]] not in LOGO_LEVELS


CODES = _pairs()


@pytest.mark.parametrize("part", range(4))
def test_every_pair_of_options_is_read_by_three_decoders(part: int) -> None:
    """All types, levels, styles, colours, with a logo and without: each decoder reads exactly the content.

    OpenCV looks for square corners, so it does not find round eyes; zbar does, but circles not with every logo.
    """
    for code in CODES[part::4]:
        text = payloads.read(code["type"], CONTENTS[code["type"]], SETTINGS).text
        look = {name: code[name] for name in ("modules", "eyes", "level", "margin", "caption")}
        foreground, background = code["colors"]
        drawing = design(text, Style(foreground, background, code["gradient"], **look), code["logo"])
        render.must_scan(drawing, text)
        assert zxing(drawing.render("png", 400)) == text, code
        if code["eyes"] not in ROUND_EYES:
            assert _is_readable(opencv, drawing, text), code
        # This zbar guesses the encoding of non-ASCII content.
        if text.isascii() and not (code["eyes"] == "circle" and code["logo"]):
            assert _is_readable(lambda picture: "".join(by_zbar(picture)), drawing, text), code


def _is_readable(decode: Callable[[bytes], str | None], drawing: Drawing, text: str) -> bool:
    """Return whether a decoder reads the code at one of several sizes, like a phone that is moved."""
    return any(decode(drawing.render("png", size)) == text for size in (400, 300, 560, 700))


@pytest.mark.parametrize("form", ["svg", "pdf"])
@pytest.mark.parametrize("modules", get_args(Modules))
def test_svg_and_pdf_contain_same_code(form: Any, modules: Modules) -> None:
    text = "https://go.example.com/abcdef"
    for eyes, (gradient, caption, logo) in itertools.product(
        get_args(Eyes),
        ((None, "", None), (Gradient("#802040", "radial"), "Größe", None), (Gradient("#123"), "", png())),
    ):
        paint = Gradient("#112233") if gradient and gradient.color == "#123" else gradient
        style = Style("#102040", "#fff8f0", paint, modules, eyes, caption=caption)
        drawing = design(text, style, logo)
        image = drawing.render(form, 300)
        assert zxing(image) == text, (form, modules, eyes)
        if eyes not in ROUND_EYES:
            assert any(opencv(drawing.render(form, size)) == text for size in (300, 400, 500)), (form, modules, eyes)
        assert abs(opened(image).height - opened(drawing.render("png", 300)).height) <= 1


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=120))
@settings(max_examples=150)
def test_any_text_is_decoded_exactly(text: str) -> None:
    try:
        content = payloads.read("text", text, SETTINGS).text
    except Problem:
        return
    drawing = design(content)
    assert zxing(drawing.render("png", 600)) == content
    if content.isascii():  # for a few contents, such as WORK,VOICE, it finds no eyes at any size
        assert _is_readable(opencv, drawing, content) or by_zbar(drawing.render("png", 600)) == [content]
    else:  # it stumbles over a change of mode after the word that the text is UTF-8, but reads nothing else
        assert opencv(drawing.render("png", 600)) in (content, None)


@pytest.mark.parametrize("size", [64, 65, 100, 257, 300, 512, 1000, 4096])
def test_png_has_exact_size(size: int) -> None:
    assert opened(design("https://example.com/").render("png", size)).size == (size, size)


def test_png_modules_are_whole_pixels_where_possible() -> None:
    image = opened(design("https://example.com/").render("png", 512))
    assert set(image.tobytes()) == {0, 255}


def test_svg_and_pdf_are_small() -> None:
    drawing = design("https://go.example.com/abcdef")
    assert len(drawing.render("svg", 512)) < 3000
    assert len(drawing.render("pdf", 512)) < 3000
    assert drawing.render("svg", 512).count(b"<path") == 2


@pytest.mark.parametrize("lines", [outlines, lambda rows, _side: loops(rows)], ids=["outlines", "loops"])
def test_outlines_enclose_exactly_dark_modules(lines: Callable[[list[int], int], list[list[Corner]]]) -> None:
    """Counted by crossing: a module is dark when an odd number of vertical edges lies on its left."""
    chance = random.Random(3)
    for side in (1, 2, 5, 17, 40):
        rows = [chance.getrandbits(side) for _ in range(side)]
        edges = [set[int]() for _ in range(side)]
        for corners in lines(rows, side):
            for (x, y), (to_x, to_y) in zip(corners, [*corners[1:], corners[0]], strict=True):
                assert (x == to_x) != (y == to_y)
                for line in range(min(y, to_y), max(y, to_y)):
                    edges[line] ^= {x}
        for y, row in enumerate(rows):
            assert [sum(edge <= x for edge in edges[y]) % 2 for x in range(side)] == [row >> x & 1 for x in range(side)]


@pytest.mark.parametrize("bits", [0, 1, 0b1011, 0b1100, 2**70 + 3])
def test_runs_cover_exactly_the_set_bits(bits: int) -> None:
    assert sum(((1 << after - first) - 1) << first for first, after in runs(bits)) == bits


def test_auto_level_is_highest_for_size_and_rises_with_logo() -> None:
    assert encode("https://go.example.com/abcdef").level in "MQH"
    for text in ("x", "https://go.example.com/abcdef", "a" * 300, "a" * 1000):
        symbol = encode(text, aspect=1.0)
        assert symbol.level in "QH"
        assert symbol.hole is not None
        render.must_scan(design(text, Style(), png()), text)


def test_level_too_low_for_logo_is_rejected() -> None:
    text = "https://go.example.com/abcdef"
    with pytest.raises(Problem, match="level L is too low for the logo") as caught:
        render.must_scan(design(text, Style(level="L"), png()), text)
    assert caught.value.field == "level"


def test_verification_rejects_unreadable_code() -> None:
    with pytest.raises(Problem, match="cannot be scanned"):
        render.must_scan(design("one thing"), "another thing")


def test_captions_support_many_scripts() -> None:
    assert cannot_write("Größe ÅØ ñ Ελλάδα Москва € “x”") == ""
    assert cannot_write("日本") == "日本"


def test_pdf_has_valid_cross_reference_table() -> None:
    pdf = design("x", Style(gradient=Gradient("#333333"), caption="A"), png()).render("pdf", 200)
    table = int(pdf.rsplit(b"startxref\n", 1)[1].split()[0])
    entries = pdf[table:].split(b"\n")[3:-6]
    for number, entry in enumerate(entries, 1):
        assert pdf[int(entry[:10]) :].startswith(b"%d 0 obj" % number)
    stream = pdf.split(b"stream\n", 1)[1].split(b"\nendstream", 1)[0]
    assert b"/P scn" in zlib.decompress(stream)


def test_concurrent_first_captions_keep_font_intact() -> None:
    box = layout.Box(0, 0, 9, 9)
    card = layout.Card(box, box, "Größe", 9, 9, 3)
    layout._font().close()
    for cached in (layout._font, layout._cap_height, layout._advances, layout._outline):
        cached.cache_clear()
    switching = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        first = at_once([lambda: list(layout.letters(card))] * 8)
    finally:
        sys.setswitchinterval(switching)
    assert first == [list(layout.letters(card))] * 8


@pytest.mark.parametrize("length", [1, 20, 60, 150, 400, 1000, 2000])
@pytest.mark.parametrize("margin", [4, 10])
def test_image_that_is_only_enlarged_decodes_in_every_size(length: int, margin: int) -> None:
    text = ("waypost/" * length)[:length]
    drawing = design(text, Style(margin=margin))
    assert drawing.is_enlargement(10 * drawing.layout.width)
    sizes = [factor * drawing.layout.width for factor in (3, 4, 5, 10)]
    assert [render.decode_image(drawing.picture(size)) for size in sizes] == [text] * len(sizes)


@pytest.mark.parametrize("change", [{"modules": "dots"}, {"eyes": "rounded"}, {"caption": "Scan me"}])
def test_image_with_round_edges_is_not_only_enlarged(change: dict[str, Any]) -> None:
    assert not design("Hello", Style(**change)).is_enlargement(300)

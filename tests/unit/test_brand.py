"""Brands: colors are readable wherever pages use them, names and icons are harmless."""

import re
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from tests.support.brands import data_url, logo
from waypost.core.errors import Problem
from waypost.media.branding import colors
from waypost.media.branding.brand import NO_BRAND, Brand, checked_name, dashboard_style, icon_file, logo_bytes
from waypost.media.branding.colors import DARK, LIGHT, accents, contrast
from waypost.media.pictures import picture_fetch

_TOKENS = (Path(__file__).parents[2] / "web" / "src" / "tokens.css").read_text()
_MAX_LOGO = 24 * 1024


@pytest.mark.parametrize(
    ("text", "color"),
    [
        ("#0A5cFF", "#0a5cff"),
        (" 0a5cff ", "#0a5cff"),
        ("#05f", "#0055ff"),
        ("rgb(10, 92, 255)", "#0a5cff"),
        ("RGB(10 92 255)", "#0a5cff"),
        *(
            (text, None)
            for text in ("", "red", "#0a5cf", "#0a5cfff", "#gggggg", "rgb(1,2,256)", "rgb(1,2)", "\uff10\uff10\uff10")
        ),
        *((text, None) for text in ("#fff;}", "url(//x)", "var(--x)", "#fff\n}", "rgb(1,2,3) }")),
    ],
)
def test_color_is_read_or_rejected(text: str, color: str | None) -> None:
    assert colors.parse_color(text) == color


@given(st.integers(0, 0xFFFFFF))
def test_every_color_becomes_readable_in_both_modes(number: int) -> None:
    for mode, surfaces in zip(accents(f"#{number:06x}"), (LIGHT, DARK), strict=True):
        for surface in (surfaces.background, surfaces.card, surfaces.inset, surfaces.on_accent, mode.tint):
            assert contrast(mode.accent, surface) >= 4.5, surface
        assert contrast(mode.hover, surfaces.card) >= 4.5
        assert contrast(mode.on_accent, mode.hover) >= 4.5
        assert contrast(surfaces.muted, mode.tint) >= 4.5
        assert mode.fill == f"#{number:06x}"
        assert min(contrast(mode.on_fill, mode.fill), contrast(mode.on_fill, mode.fill_hover)) >= 4.5
        assert contrast(mode.light, surfaces.card) >= 3


def test_readable_color_stays_as_it_is() -> None:
    assert accents("#0d6b4f")[0].accent == "#0d6b4f"
    assert accents("#57c796")[1].accent == "#57c796"


def test_surfaces_are_those_of_the_dashboard() -> None:
    for name in ("background", "card", "inset", "muted", "on_accent"):
        match = re.search(rf"--{name.replace('_', '-')}: light-dark\((#\w+), (#\w+)\)", _TOKENS)
        assert match is not None
        values = [colors.parse_color(value) for value in match.groups()]
        assert [getattr(LIGHT, name), getattr(DARK, name)] == values, name
    for token in re.findall(r"--([a-z-]+):", dashboard_style("#0a5cff")):
        assert f"--{token}: light-dark(" in _TOKENS


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("  Acme  ", "Acme"),
        ("Cafe\u0301", "Caf\u00e9"),
        ("<b>&\"'", "<b>&\"'"),
        ("\u0645\u06cc\u200c\u062e", "\u0645\u06cc\u200c\u062e"),
        ("x" * 60, "x" * 60),
        *((text, None) for text in ("x" * 61, "x" * 10_000, "a\nb", "a\u202eb", "a\u2066b", "a\u200bb", "a\x00b")),
        *((text, None) for text in ("a\ufeffb", "a\U000e0041b", "a\x1b[2J", "a\u2028b")),
    ],
)
def test_name_is_cleaned_or_rejected(text: str, name: str | None) -> None:
    if name is None:
        with pytest.raises(Problem, match=r"name must"):
            checked_name(text, field="name")
    else:
        assert checked_name(text, field="name") == name


def test_brand_falls_back_by_color_and_by_name_with_logo() -> None:
    service = Brand("Service", "#111111", "data:a")
    assert NO_BRAND.or_else(service) == service
    assert Brand(color="#222222").or_else(service) == Brand("Service", "#222222", "data:a")
    assert Brand("Domain").or_else(service) == Brand("Domain", "#111111", "")
    assert service.or_else(NO_BRAND) == service


@pytest.mark.parametrize(
    ("brand", "media_type", "says"),
    [
        (NO_BRAND, "image/svg+xml", b"#0d7a58"),
        (Brand(color="#0a5cff"), "image/svg+xml", b"#0a5cff"),
        (Brand("acme", "#0a5cff"), "image/svg+xml", b">A<"),
        (Brand("<script>"), "image/svg+xml", b">S<"),
        (Brand("&&&"), "image/svg+xml", b">&amp;<"),
        (Brand("Acme", logo=data_url(logo())), "image/png", b"PNG"),
        (Brand("Acme", logo=data_url(logo(400, 80))), "image/svg+xml", b">A<"),
    ],
)
def test_icon_is_square_logo_or_letter_or_sign(brand: Brand, media_type: str, says: bytes) -> None:
    kind, content = icon_file(brand)
    assert kind == media_type
    assert says in content
    assert b"<script" not in content


@pytest.mark.parametrize(
    ("picture", "size", "is_transparent"),
    [
        (logo(), (91, 91), True),
        (logo(mode="RGB"), (120, 120), False),
        (logo(kind="JPEG", mode="RGB"), (120, 120), False),
        (logo(4000, 400), (512, 54), True),
        (logo(40, 4000), (1, 192), True),
        (logo(ink="#ffffff"), (115, 115), False),
    ],
)
def test_logo_is_cropped_and_reduced(picture: bytes, size: tuple[int, int], *, is_transparent: bool) -> None:
    copy = Brand("A", logo=picture_fetch.brand_logo(picture, field="logo"))
    assert copy.picture is not None
    assert abs(copy.picture.width - size[0]) <= 2
    assert abs(copy.picture.height - size[1]) <= 2
    assert copy.picture.is_transparent == is_transparent


def test_logo_of_any_content_is_small_and_has_no_metadata() -> None:
    noise = Image.effect_noise((600, 600), 90).convert("RGBA")
    noise.putpixel((0, 0), (0, 0, 0, 0))
    out = BytesIO()
    noise.save(out, "PNG")
    with_text = out.getvalue() + b"<script>alert(1)</script>"
    copy = logo_bytes(picture_fetch.brand_logo(with_text, field="logo"))
    assert len(copy) <= _MAX_LOGO
    assert b"script" not in copy
    assert Image.open(BytesIO(copy)).format == "PNG"


def _bomb() -> bytes:
    out = BytesIO()
    Image.new("1", (30_000, 30_000)).save(out, "PNG")
    return out.getvalue()


@pytest.mark.parametrize(
    ("picture", "message"),
    [
        (b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>", "PNG or JPEG"),
        (b"", "PNG or JPEG"),
        (b"GIF89a" + b"\0" * 100, "PNG or JPEG"),
        (logo()[:200], "damaged"),
        (b"x" * (2 * 1024 * 1024 + 1), "at most"),
        (_bomb, "4096 pixels"),
        (logo(ink="#ffffff00"), "fully transparent"),
    ],
    ids=["SVG", "empty", "GIF", "cut off", "large", "bomb", "invisible"],
)
def test_hostile_logo_is_rejected(picture: bytes | Callable[[], bytes], message: str) -> None:
    with pytest.raises(Problem, match=message) as raised:
        picture_fetch.brand_logo(picture() if callable(picture) else picture, field="logo")
    assert raised.value.field == "logo"

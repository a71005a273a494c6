"""Own colors of bio pages: text can be read on them, or they are refused."""

import pytest

from waypost.items.bios import design
from waypost.media.qrcode.styles import contrast

NAMES = {name: name for name in design.DEFAULTS}


def _complete(**parts: str) -> design.Design:
    whole = design.complete({"background": "#ffffff", **parts})
    assert whole is not None
    return whole


@pytest.mark.parametrize(
    ("parts", "faults"),
    [
        ({}, []),
        ({"text": "#777777"}, ["text"]),  # 4.48:1
        ({"text": "#767676"}, []),  # 4.54:1
        ({"background": "#000000", "text": "#222222"}, ["text"]),
        ({"background": "#ffffff", "gradient": "#000000"}, ["gradient"]),
        ({"background": "#ffffff", "gradient": "#f0e0d0"}, []),
        ({"background": "#ff0000", "gradient": "#0000ff", "text": "#000000"}, ["text"]),  # too dark in the middle
        ({"button": "#ffffff", "buttontext": "#cccccc"}, ["buttontext"]),
        ({"text": "#eeeeee", "button": "#112233", "buttontext": "#334455"}, ["text", "buttontext"]),
    ],
)
def test_parts_with_too_little_contrast_are_named(parts: dict[str, str], faults: list[str]) -> None:
    assert [fault.part for fault in design.faults(_complete(**parts), NAMES)] == faults


def test_reported_contrast_is_never_rounded_up_to_the_minimum() -> None:
    (fault,) = design.faults(_complete(text="#777777"), NAMES)
    assert fault.message == "text must have a contrast of at least 4.5:1 to the background; it has 4.4:1."


@pytest.mark.parametrize("level", range(0, 256, 15))
def test_automatic_text_can_be_read_on_every_color(level: int) -> None:
    for color in (f"#{level:02x}{level:02x}{level:02x}", f"#{level:02x}00ff", f"#ff{level:02x}00"):
        whole = _complete(background=color, button=color)
        assert list(design.faults(whole, NAMES)) == []
        palette = design.palette(whole)
        assert contrast(palette.ink, palette.sky) >= 4.5
        assert contrast(palette.soft, palette.sky) >= 4.5
        assert contrast(palette.mark, palette.card) >= 4.5


@pytest.mark.parametrize(("background", "text"), [("#ffffff", ""), ("#000000", ""), ("#fff4e0", "#3d1522")])
def test_background_color_over_picture_is_as_opaque_as_text_needs(background: str, text: str) -> None:
    style = design.css("ocean", _complete(background=background, text=text, picture="picture-1"), "/ana/picture-1")
    assert 'url("/ana/picture-1")' in style
    alpha = float(style.split(" / ")[1].split(")")[0])
    assert 0.5 <= alpha < 0.9
    ink = style.split("--ink: ")[1].split(";")[0]
    for under in (0, 255):
        parts = [round(int(background[place : place + 2], 16) * alpha + under * (1 - alpha)) for place in (1, 3, 5)]
        assert contrast(ink, "#" + "".join(f"{part:02x}" for part in parts)) >= 4.5

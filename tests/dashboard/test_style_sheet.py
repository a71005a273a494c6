"""The style sheet of the dashboard: it leaves out the parts of Pico that no page uses."""

import re
from pathlib import Path

import waypost.dashboard

_FOLDER = Path(waypost.dashboard.__file__).parent
_LEFT_OUT = re.compile(
    r'data-tooltip|type="range"|role="search"|<hgroup|<summary[^>]*role="button"'
    r'|<(?:a|button)[^>]*class="[^"]*\b(?:outline|contrast)\b|class="[^"]*\b(?:container|striped|overflow-auto)\b'
)


def test_no_page_uses_a_part_of_pico_that_is_left_out() -> None:
    (sheet,) = (_FOLDER / "static").glob("main-*.css")
    text = sheet.read_text()
    assert "[data-tooltip]" not in text
    assert "[role=group]" in text
    used = {path.name for path in (_FOLDER / "templates").rglob("*.html") if _LEFT_OUT.search(path.read_text())}
    assert not used


def test_style_sheet_is_small_enough_for_a_first_load_of_120_kilobytes() -> None:
    (packed,) = (_FOLDER / "static").glob("main-*.css.br")
    assert packed.stat().st_size <= 28_500

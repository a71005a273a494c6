"""The layout checks of pages: the widths at which a text leaves its box, and the sides of elements."""

import pytest
from playwright.sync_api import Browser

from tests.support import layout
from tests.support.browser import window

_PAGE = "<meta name=viewport content='width=device-width'><body><p style='width: {width}; overflow: clip'>{text}</p>"


def test_width_at_which_text_leaves_its_box_is_found(chrome: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "_ATTEMPTS", 1)
    with window(chrome) as seen:
        seen.page.set_content(_PAGE.format(width="min(600px, 50vw)", text="x" * 40))
        assert list(layout.faults_by_width(seen.page, (1280, 768, 320))) == [320]
        seen.page.set_content(_PAGE.format(width="auto", text="Clay and glazes"))
        assert layout.faults_by_width(seen.page) == {}


def test_chart_that_follows_the_width_late_is_no_fault(chrome: Browser) -> None:
    with window(chrome) as seen:
        seen.page.set_content("<body style='margin: 0'><canvas width=1280 height=10 style='display: block'></canvas>")
        seen.page.evaluate(
            """new ResizeObserver(() => setTimeout(() => {
              document.querySelector("canvas").width = innerWidth
            }, 200)).observe(document.documentElement)"""
        )
        assert layout.faults_by_width(seen.page, (1280, 390)) == {}


@pytest.mark.parametrize("direction", ["ltr", "rtl"])
def test_margin_that_is_not_mirrored_is_found(chrome: Browser, direction: str) -> None:
    with window(chrome) as seen:
        for margin, count in (("margin-inline-start", 0), ("margin-left", 1)):
            page = f"<html dir={direction}><body><div style='{margin}: 40px'>Clay <b>and glazes</b></div>"
            seen.page.set_content(page)
            assert len(layout.mirror_faults(seen.page)) == count, margin
            assert seen.page.evaluate("document.documentElement.dir") == direction

"""Named styles of the QR designer ("My styles")."""

import html
import json
import re
from functools import partial
from typing import Any

from tests.conftest import Person
from tests.support.dashboard_client import Browser, hidden_field, new_browser
from tests.support.databases import ON_BOTH_DATABASES
from tests.support.form_errors import only_error
from tests.support.qr_decoders import LOGO, new_code
from waypost.dashboard import presets

pytestmark = ON_BOTH_DATABASES
PLAIN: dict[str, Any] = {
    "type": "text",
    "text__text": "",
    "foreground": "#000000",
    "background": "#ffffff",
    "modules": "square",
    "eyes": "square",
    "level": "auto",
    "caption": "",
    "margin": "4",
}
BLUE: dict[str, Any] = {
    **PLAIN,
    "foreground": "#102040",
    "modules": "dots",
    "caption": "Scan me",
    "blend": "on",
    "gradient__color": "#401060",
    "gradient__type": "radial",
    "gradient__angle": "30",
}


def _submit(dashboard: Browser, path: str, at: str = "/qr/new", **fields: Any) -> Any:
    names = {name.replace("__", "."): value for name, value in fields.items()}
    return dashboard.submit(path, at=at, **names)


def _styles(page: Any) -> dict[str, dict[str, str]]:
    """Return the fields of the saved styles by their names."""
    group = page.text.partition("<legend>My styles</legend>")[2].partition("</fieldset>")[0]
    matches = re.findall(r'data-fields="([^"]+)".*?<span dir="auto">(.*?)</span>', group, re.DOTALL)
    return {html.unescape(name): json.loads(html.unescape(fields)) for fields, name in matches}


def _ids(page: Any) -> dict[str, str]:
    matches = re.findall(r'<option value="(\d+)"[^>]*>([^<]+)</option>', page.text.partition('id="style"')[2])
    return {html.unescape(name): number for number, name in matches}


def _status(page: Any) -> str:
    return "".join(re.findall(r'<p role="status">(.*?)</p>', page.text.partition('id="style-tools"')[2]))


def test_style_that_the_fields_have_is_marked_without_scripts(ana: Person, dashboard: Browser) -> None:
    page = _submit(dashboard, "/qr/styles", style_name="Autumn", **BLUE)
    (style,) = re.findall(r"<option value=\"(\d+)\"[^>]*>Autumn<", page.text)
    for path, fields, is_marked in (
        (f"/qr/styles/apply/{style}", {}, True),
        ("/qr/preview", {**BLUE, "foreground": BLUE["foreground"].upper()}, True),
        ("/qr/preview", {**BLUE, "modules": "square"}, False),
        ("/qr/preview", {**BLUE, "blend": ""}, False),
    ):
        group = _submit(dashboard, path, **fields).text.partition("<legend>My styles</legend>")[2]
        mark = re.search(r'aria-pressed="(\w+)"', group.partition("</fieldset>")[0])
        assert mark is not None
        assert (mark[1] == "true") == is_marked, (path, fields)


def test_style_is_saved_and_fills_in_the_fields_of_another_code(ana: Person, dashboard: Browser) -> None:
    assert _styles(dashboard.get("/qr/new")) == {}
    page = _submit(dashboard, "/qr/styles", style_name="Autumn <b>", **{**BLUE, "text__text": "Kept"})
    assert (page.status_code, _status(page)) == (200, "The style was saved.")
    assert ">\nKept</textarea>" in page.text
    assert "data-unsaved" in page.text
    assert ana.get("/qr")["data"]["result"] == 0
    style = _styles(dashboard.get("/qr/new"))["Autumn <b>"]
    assert (style["foreground"], style["modules"], style["caption"], style["margin"]) == (
        "#102040",
        "dots",
        "Scan me",
        "4",
    )
    assert [style[f"gradient.{part}"] for part in ("color", "type", "angle")] == ["#401060", "radial", "30"]
    assert (style["blend"], style["former"]) == ("on", "")
    applied = _submit(dashboard, f"/qr/styles/apply/{_ids(page)['Autumn <b>']}", **PLAIN)
    assert 'name="foreground"' in applied.text
    assert re.search(r'name="foreground"\s+type="color"\s+value="#102040"', applied.text)
    assert re.search(r'name="modules" value="dots" checked', applied.text)


def test_logo_of_a_saved_code_is_part_of_its_style(ana: Person, dashboard: Browser) -> None:
    code, _ = new_code(ana, "text", "Hello", logo=LOGO, name="With a logo")
    at = f"/qr/{code}"
    fields = {**PLAIN, "text__text": "Hello", "version": hidden_field(dashboard.get(at), "version")}
    page = _submit(dashboard, f"/qr/styles?code={code}", at=at, style_name="Logo", **fields)
    assert _status(page) == "The style was saved."
    assert _styles(dashboard.get("/qr/new"))["Logo"]["former"] == str(code)
    applied = _submit(dashboard, f"/qr/styles/apply/{_ids(page)['Logo']}", **{**PLAIN, "text__text": "Other"})
    assert re.search(rf'name="former"\s+value="{code}"[^>]*checked', applied.text)
    without = _submit(dashboard, f"/qr/styles?code={code}", at=at, style_name="Logo", unlogo="on", **fields)
    assert _styles(without)["Logo"]["former"] == ""


def test_style_is_renamed_replaced_and_deleted(ana: Person, dashboard: Browser) -> None:
    _submit(dashboard, "/qr/styles", style_name="One", **PLAIN)
    ids = _ids(_submit(dashboard, "/qr/styles", style_name="Two", **BLUE))
    page = _submit(dashboard, "/qr/styles", style_name="ONE", **BLUE)
    assert {name: style["modules"] for name, style in _styles(page).items()} == {"ONE": "dots", "Two": "dots"}
    page = _submit(dashboard, "/qr/styles/rename", style=ids["Two"], style_name="one", **PLAIN)
    assert "You already have a style with this name." in page.text
    page = _submit(dashboard, "/qr/styles/rename", style=ids["Two"], style_name="Third", **PLAIN)
    assert (_status(page), list(_styles(page))) == ("The style was renamed.", ["ONE", "Third"])
    page = _submit(dashboard, "/qr/styles/delete", style=ids["Two"], style_name="", **PLAIN)
    assert (_status(page), list(_styles(page))) == ("The style was deleted.", ["ONE"])
    assert _submit(dashboard, "/qr/styles/delete", style=ids["Two"], **PLAIN).status_code == 404


def test_style_that_no_code_can_have_is_not_saved(ana: Person, dashboard: Browser) -> None:
    for fields in ({"foreground": "#ffff00"}, {"margin": "99"}, {"foreground": "no color"}):
        page = _submit(dashboard, "/qr/styles", style_name="Pale", **{**PLAIN, **fields})
        assert (page.status_code, _status(page)) == (200, "Not saved: correct the style first.")
        assert ("error-summary" in page.text) != (only_error(page.text) is not None)
    page = _submit(dashboard, "/qr/styles", style_name=" ", **PLAIN)
    assert 'id="style_name-error"' in page.text
    assert _styles(dashboard.get("/qr/new")) == {}
    dashboard.submit("/language", at="/qr", language="de")
    page = _submit(dashboard, "/qr/styles", style_name=" ", **PLAIN)
    assert "Name des Stils darf nicht leer sein." in page.text


def test_number_of_styles_is_limited(ana: Person, dashboard: Browser) -> None:
    for n in range(presets.MAX):
        ana.write(partial(presets.save, account=ana.account, kind="qr", name=f"Style {n}", settings={}))
    page = _submit(dashboard, "/qr/styles", style_name="One more", **PLAIN)
    assert "You have 50 styles, which is the limit. Delete one first." in page.text


def test_styles_belong_to_their_account(ana: Person, ben: Person, dashboard: Browser) -> None:
    style = _ids(_submit(dashboard, "/qr/styles", style_name="Mine", **BLUE))["Mine"]
    view = partial(presets.save, account=ana.account, kind="links", name="View", settings={"status": "public"})
    ana.write(view)
    assert list(_styles(dashboard.get("/qr/new"))) == ["Mine"]
    other = new_browser(dashboard.client)
    other.sign_in("ben")
    assert _styles(other.get("/qr/new")) == {}
    for path in (f"/qr/styles/apply/{style}", "/qr/styles/rename", "/qr/styles/delete"):
        assert _submit(other, path, style=style, style_name="Taken over", **PLAIN).status_code == 404, path
    assert list(_styles(dashboard.get("/qr/new"))) == ["Mine"]

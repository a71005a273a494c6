"""Dashboard pages of imports: the form, and the plan."""

import html
import re
from typing import Any

import pytest
from sqlalchemy import select, update

from tests.conftest import Person
from tests.support.dashboard_client import Browser, hidden_field
from tests.support.databases import ON_SQLITE
from tests.support.imports import SHOP, await_import, run
from waypost.core import clock
from waypost.core.settings import Settings
from waypost.db.schema import audit, import_plans, import_rows
from waypost.transfer.imports.sources.registry import LABELS

HASH = "$2b$12$abc"
"""The hash of a password: the link comes disabled."""


def _submit(dashboard: Browser, content: str, **fields: str) -> Any:
    """Submit the form with a CSV file."""
    token = hidden_field(dashboard.get("/import/new"), "token")
    form = {"token": token, "timezone": "UTC", "conflicts": "skip", "folders": "campaign", **fields}
    return dashboard.client.post("/dashboard/import/new", data=form, files={"file": ("links.csv", content.encode())})


def _apply_plan(person: Person, busy_until: int) -> None:
    """Store the plan as applied, by a process that is busy until then."""
    person.write(lambda tx: tx.execute(update(import_plans).values(state="applied", busy_until=busy_until)))


def test_form_imports_links_without_a_host_to_a_domain(ana: Person, dashboard: Browser) -> None:
    ana.add("domain", domain="https://links.example.com")
    file = f"short,url\nspring,{SHOP}\nhttps://old.example/a,{SHOP}"
    assert _submit(dashboard, file, mapping="=links.example.com\nold.example=").status_code == 303
    await_import(ana)
    rows = ana.get("/import/rows")["data"]["rows"]
    assert [(row["host"], row["alias"]) for row in rows] == [("links.example.com", "spring"), ("", "a")]


def test_pages_name_the_domains_of_the_new_links_next_to_their_buttons(ana: Person, dashboard: Browser) -> None:
    ana.add("domain", domain="https://links.example.com")
    ana.add("domain", domain="https://other.example.com")
    form = " ".join(dashboard.get("/import/new").text.split())
    assert re.search(r"Links without a domain get go\.localhost:8000\. .{0,200}<button>Preview the import", form)
    _submit(dashboard, f"short,url\nspring,{SHOP}", mapping="=links.example.com")
    await_import(ana)
    assert "The short URLs begin with links.example.com." in dashboard.get("/import").text
    rows = (f"https://links.example.com/a{n},{SHOP}/{n}" for n in range(2))
    file = "\n".join(("short,url", *rows, f"spring,{SHOP}", f"https://elsewhere.example/b,{SHOP}"))
    _submit(dashboard, file)
    await_import(ana)
    page = " ".join(dashboard.get("/import").text.split())
    text = "The short URLs begin with one of: links.example.com, go.localhost:8000."
    assert text in page
    assert re.search(text + r".{0,100}<button> Import 3 links", page)
    _apply_plan(ana, 0)
    assert "The short URLs begin" not in dashboard.get("/import").text


def test_import_does_not_change_the_domain_of_the_next_link(
    ana: Person, dashboard: Browser, settings: Settings
) -> None:
    for name in ("links", "other"):
        ana.add("domain", domain=f"https://{name}.example.com")
    for own in ("", "links.example.com"):
        if own:
            ana.add("url", url=SHOP, domain=own)
        rows = (f"https://other.example.com/{own[:1]}a{n},{SHOP}/{own}{n}" for n in range(3))
        run(ana, settings, "\n".join(("short,url", *rows)))
        newest = ana.get("/urls")["data"]["urls"][0]["shorturl"]
        assert newest.startswith("https://other.example.com/")
        page = dashboard.get("/links/new").text
        selected = re.findall(r'value="((?:links|other)\.example\.com)"\s+selected', page)
        assert set(selected) == {own} - {""}


@ON_SQLITE
def test_replaced_plan_was_deleted_through_the_dashboard(ana: Person, dashboard: Browser, settings: Settings) -> None:
    run(ana, settings, f"alias,url\nspring,{SHOP}")
    _submit(dashboard, f"alias,url\nautumn,{SHOP}")
    await_import(ana)
    query = select(audit.c.origin, audit.c.actor).where(audit.c.name == "import.deleted")
    assert ana.database.read(lambda tx: tx.execute(query).all()) == [("dashboard", ana.account)]


@ON_SQLITE
def test_columns_are_those_of_the_form_and_no_others(ana: Person, dashboard: Browser) -> None:
    file = f"alias,title,Ziel\nspring,Spring,{SHOP}"
    assert _submit(dashboard, file, columnnames="url=Ziel\nalias=title\ntitle=\n").status_code == 303
    await_import(ana)
    assert [row["alias"] for row in ana.get("/import/rows")["data"]["rows"]] == ["Spring"]
    fields = ana.database.read(lambda tx: tx.execute(select(import_rows.c.fields)).scalar_one())
    assert fields["columns"]["title"] == ""


@ON_SQLITE
def test_line_that_names_no_field_is_refused(ana: Person, dashboard: Browser) -> None:
    for lines in ("color=Farbe", "url"):
        response = _submit(dashboard, f"alias,url\nspring,{SHOP}", columnnames=lines)
        assert (response.status_code, "Write a line such as url=Target" in response.text) == (400, True)


@ON_SQLITE
def test_file_without_destination_gets_no_plan(ana: Person, dashboard: Browser) -> None:
    response = _submit(dashboard, f"web,kurz\n{SHOP},spring", columnnames="url=\nalias=kurz")
    error = re.search(r'id="columnnames-error".*?<span>(.*?)</span>', response.text, re.DOTALL)
    assert (response.status_code, error and error[1]) == (400, "Select which column is the destination.")
    assert ana.database.read(lambda tx: tx.execute(select(import_plans)).all()) == []


@ON_SQLITE
def test_plan_without_destination_is_explained_in_words_of_the_form(ana: Person, dashboard: Browser) -> None:
    assert _submit(dashboard, f"web,kurz\n{SHOP},spring").status_code == 303
    await_import(ana)
    page = dashboard.get("/import").text
    assert "Select which column is the destination." in page
    assert "column url=" not in page


@ON_SQLITE
def test_form_offers_the_sources_as_cards(ana: Person, dashboard: Browser) -> None:
    page = dashboard.get("/import/new").text
    sources = re.findall(r'<input type="radio" name="service" value="([^"]*)"', page)
    assert sources == ["", *LABELS]
    assert re.search(r'name="service" value="" checked', page)


@ON_SQLITE
def test_pair_of_hosts_without_a_host_is_refused(ana: Person, dashboard: Browser) -> None:
    for mapping in ("=", "links.example.com"):
        response = _submit(dashboard, f"alias,url\nspring,{SHOP}", mapping=mapping)
        assert (response.status_code, "old.example=new.example" in response.text) == (400, True)


@pytest.mark.parametrize(
    ("lossy", "lossless", "sentence"),
    [
        (2, 1202, "2 of 1,204 links cannot be imported completely."),
        (1, 1, "One of 2 links cannot be imported completely."),
        (1, 0, "The link cannot be imported completely."),
        (0, 2, ""),
    ],
)
def test_plan_tells_how_many_of_all_links_lose_something(
    ana: Person, dashboard: Browser, lossy: int, lossless: int, sentence: str
) -> None:
    ana.add("url", url=f"{SHOP}/old", custom="mine")
    ana.add("url", url=SHOP, custom="there")
    rows = [f"mine,{SHOP}/new,{HASH if lossy else ''}"]  # changes a link
    rows += [f"lossy-{number},{SHOP}/{number},{HASH}" for number in range(lossy - 1)]
    rows += [f"link-{number},{SHOP}/{number}," for number in range(lossless - (not lossy))]
    rows += [f"there,{SHOP},{HASH}", f"bad name,{SHOP},{HASH}"]
    _submit(dashboard, "alias,url,password\n" + "\n".join(rows), conflicts="replace")
    await_import(ana)
    page = " ".join(dashboard.get("/import").text.split())
    sentences = re.findall(r"[^<>]* imported completely\.", page)
    assert [text.strip() for text in sentences] == ([sentence] if sentence else [])


def test_plan_counts_rows_in_its_tabs_and_its_button(ana: Person, dashboard: Browser) -> None:
    ana.add("url", url=SHOP, custom="there")
    ana.add("url", url=f"{SHOP}/other", custom="taken")
    _submit(dashboard, f"alias,url\nspring,{SHOP}\nautumn,{SHOP}\nthere,{SHOP}\ntaken,{SHOP}\nbad name,{SHOP}")
    await_import(ana)
    page = " ".join(dashboard.get("/import").text.split())
    assert re.findall(r'>([\w ]+) <span class="tag ?([a-z]*)">([0-9]+)</span>', page) == [
        ("All", "", "5"),
        ("New", "good", "2"),
        ("Exists already", "", "1"),
        ("Conflict", "warning", "1"),
        ("Cannot be imported", "bad", "1"),
    ]
    assert re.findall(r"<button>\s*(Import [^<]*?)\s*</button>", page) == ["Import 2 links"]


def test_row_with_a_conflict_is_imported_under_another_alias(ana: Person, ben: Person, dashboard: Browser) -> None:
    ben.add("url", url=SHOP, custom="taken")
    _submit(dashboard, f"alias,url\ntaken,{SHOP}\nspring,{SHOP}")
    await_import(ana)

    def rename(alias: str) -> str:
        return dashboard.submit_for_message("/import/rows/2", at="/import?fate=conflict", fate="conflict", alias=alias)

    assert rename("bad name").startswith("Alias cannot have")
    assert rename("spring") == rename("taken") == "That alias is taken. Please choose another one."
    assert rename("other") == "Row 2 is imported as other."
    dashboard.submit("/import/apply", at="/import")
    await_import(ana)
    assert {link["alias"] for link in ana.get("/urls")["data"]["urls"]} == {"other", "spring"}
    message = dashboard.submit_for_message("/import/rows/2", at="/import", alias="third")
    assert message == "Rows can be changed only before the import."


def test_rows_that_cannot_be_imported_are_corrected_in_place(ana: Person, dashboard: Browser) -> None:
    ana.add("url", url=SHOP, custom="taken")
    dashboard.client.cookies["waypost_zone"] = "Europe/Berlin"
    rows = ["bad name,none,", f"ok,{SHOP}/a,2030-31-31", f"dated,{SHOP}/b,2030-31-31", ",ftp:x,", f"zwei,{SHOP},x,many"]
    _submit(dashboard, "alias,url,expiry,clicklimit\n" + "\n".join(rows))
    await_import(ana)
    page = dashboard.get("/import")
    forms = re.findall(r'import-correction.*?name="(alias|url|expiry)"', page.text, re.DOTALL)
    assert forms == ["alias", "expiry", "expiry", "url", "expiry"]

    def correct(line: int, **fields: str) -> str:
        at = "/import?fate=impossible"
        return dashboard.submit_for_message(f"/import/rows/{line}", at=at, fate="impossible", **fields)

    assert correct(2, alias="still bad").startswith("Alias cannot have")
    assert correct(2, alias="taken").startswith("Row 2: This is not an address.")
    assert correct(2, url="example.com/first") == "Row 2: The alias is taken."
    assert correct(2, alias="first") == "Row 2 is imported as first."
    assert correct(3, expiry="tomorrow").startswith("Expiry must be a date")
    assert correct(3, expiry="2030-12-31") == "Row 3 is imported as ok."
    assert correct(4, expiry="") == "Row 4 is imported as dated."
    assert correct(5, url=f"{SHOP}/c").startswith("Row 5 is imported as ")
    assert correct(6, url="https://example.com/") == "No such row in this account."
    dashboard.submit("/import/apply", at="/import")
    await_import(ana)
    links = {link["alias"]: link for link in ana.get("/urls")["data"]["urls"]}
    expiries = {alias: ana.details("url", links[alias]["id"])["expiry"] for alias in ("ok", "dated", "first")}
    assert expiries == {"ok": "2030-12-31 22:59:59", "dated": "", "first": ""}
    assert "zwei" not in links
    assert "the click limit is not a whole number" in page.text
    assert "import-correction" not in dashboard.get("/import?fate=impossible").text


def test_plan_that_imports_nothing_has_no_button_to_import(ana: Person, dashboard: Browser) -> None:
    _submit(dashboard, f"alias,url\nbad name,{SHOP}")
    await_import(ana)
    assert 'action="/dashboard/import/apply"' in (page := dashboard.get("/import").text)
    assert not re.search("<button>\\s*Import", page)


def test_applied_import_leads_to_its_links_and_to_undo(ana: Person, dashboard: Browser) -> None:
    ana.add("url", url=SHOP, custom="mine")
    _submit(dashboard, f"alias,url,created\nspring,{SHOP},2020-01-01\nautumn,{SHOP},2020-01-02")
    await_import(ana)
    assert 'href="/dashboard/links?status=imported"' not in dashboard.get("/import").text
    assert "No links found" in dashboard.get("/links?status=imported").text
    dashboard.submit("/import/apply", at="/import")
    await_import(ana)
    page = " ".join(dashboard.get("/import").text.split())
    assert page.count("2 links were imported.") == 1
    assert 'href="/dashboard/links?status=imported">Show the imported links' in page
    assert 'href="/dashboard/import/undo"' in page
    links = dashboard.get("/links?status=imported").text
    assert ("/autumn" in links, "/spring" in links, "/mine" in links) == (True, True, False)


def test_import_is_called_complete_when_it_can_be_undone(ana: Person, dashboard: Browser) -> None:
    _submit(dashboard, f"alias,url\nspring,{SHOP}")
    await_import(ana)
    for busy_until, heading, link in (
        (clock.now() + 30, "The links are being imported …", "Refresh"),
        (0, "The import is complete.", "Undo import …"),
    ):
        _apply_plan(ana, busy_until)
        page = dashboard.get("/import").text
        assert (re.findall("The [^<]*(?:imported …|complete[.])", page), f">{link}</a>" in page) == ([heading], True)


@ON_SQLITE
@pytest.mark.parametrize(
    ("accepted", "typed", "day"),
    [
        ("de", "31.12.2999", "2999-12-31"),
        ("de", "03/04/2999", "2999-04-03"),
        ("en-GB", "31/12/2999", "2999-12-31"),
        ("en-GB", "03/04/2999", "2999-04-03"),
        ("en-GB", "12/31/2999", ""),
        ("fr", "03-04-2999", "2999-04-03"),
        ("es-MX", "03/04/2999", "2999-04-03"),
        ("pt", "03/04/2999", "2999-04-03"),
        ("en-US,en;q=0.9", "12/31/2999", "2999-12-31"),
        ("en-US,en;q=0.9", "03/04/2999", "2999-03-04"),
        ("en-US,en;q=0.9", "31/12/2999", ""),
        ("en", "12/31/2999", "2999-12-31"),
        ("en", "03/04/2999", ""),
        ("fr-CA", "03/04/2999", ""),
    ],
)
def test_dates_of_a_file_are_read_as_in_the_region_of_the_reader(
    ana: Person, dashboard: Browser, accepted: str, typed: str, day: str
) -> None:
    dashboard.client.headers["Accept-Language"] = accepted
    _submit(dashboard, f"alias,url,expiry\nspring,{SHOP},{typed}")
    await_import(ana)
    (row,) = ana.get("/import/rows")["data"]["rows"]
    expiry = ana.database.read(lambda tx: tx.execute(select(import_rows.c.fields)).scalar_one())["columns"]["expiry"]
    assert (row["fate"], expiry and clock.day(expiry)) == (("create", day) if day else ("impossible", None))
    is_unclear = typed.startswith("03") and day != ""
    assert (f"The date {typed} was read as {day}" in row["reason"]) == is_unclear


def test_form_chooses_the_order_of_dates_and_the_plan_tells_it(ana: Person, dashboard: Browser) -> None:
    dashboard.client.headers["Accept-Language"] = "de"
    form = dashboard.get("/import/new").text
    assert re.search(r'<option value="day-first"\s+selected', form)
    _submit(dashboard, f"url,expiry\n{SHOP},03/04/2999", dates="month-first")
    await_import(ana)
    page = " ".join(dashboard.get("/import").text.split())
    assert "Ohne Alias" in page
    assert "Das Datum 03/04/2999 wurde als 4. März 2999 gelesen, weil der Monat zuerst steht." in page


def test_running_import_is_refreshed_with_the_chosen_rows(ana: Person, dashboard: Browser) -> None:
    _submit(dashboard, f"alias,url\nspring,{SHOP}")
    await_import(ana)
    _apply_plan(ana, clock.now() + 30)
    page = dashboard.get("/import?fate=there").text
    assert 'data-hx-get="/dashboard/import?fate=there"' in page
    assert re.findall(r'href="([^"]*)">Refresh<', page) == ["/dashboard/import?fate=there"]


@ON_SQLITE
def test_losses_of_row_are_in_the_language_of_the_reader(ana: Person, dashboard: Browser) -> None:
    dashboard.client.headers["Accept-Language"] = "de"
    assert _submit(dashboard, f"alias,url,password,clicks\nspring,{SHOP},{HASH},many").status_code == 303
    await_import(ana)
    text = dashboard.get("/import").text
    assert "das Passwort ist nicht bekannt: Der Link ist deaktiviert, bis Sie ein neues setzen" in text
    assert "die Klicks sind keine Zahl" in text
    assert "until you set" not in text


@ON_SQLITE
def test_reasons_of_rows_are_sentences_with_the_labels_of_their_columns(ana: Person, dashboard: Browser) -> None:
    dashboard.client.headers["Accept-Language"] = "de"
    rows = [
        f"a b,{SHOP},,,",
        f"api,{SHOP},,,",
        "c,javascript:1,,,",
        f"d,{SHOP},31.13.2999,,",
        f"e,{SHOP},,none,",
        f"f,{SHOP},,,{'x' * 300}",
        f"g,{SHOP},,,,,,more",
        "h,hello,,,",
    ]
    _submit(dashboard, "alias,url,expiry,clicklimit,title\n" + "\n".join(rows))
    await_import(ana)
    page = " ".join(html.unescape(dashboard.get("/import").text).split())
    for sentence in (
        "Zeile 2: Alias kann „ “ nicht enthalten. Verwenden Sie nur A-Z, a-z, 0-9, _ und -.",
        "Zeile 3: Alias ist von diesem Dienst reserviert. Wählen Sie einen anderen Wert.",
        "Zeile 4: Ziel-URL muss mit http://",
        "Zeile 5: Ablauf muss ein Datum wie 2026-12-31 sein. 31.13.2999 gibt es nicht, oder es kann zwei Tage meinen.",
        "Zeile 6: Klicklimit muss eine ganze Zahl ab 1 sein.",
        "Verloren: Titel wird auf 255 Zeichen gekürzt",
        "Zeile 8: Die Zeile hat 8 Spalten, die Kopfzeile 5. Setzen Sie Zellen, die das Trennzeichen enthalten, in",
        "Zeile 9: Das ist keine Adresse. Beispiel: example.com/page",
    ):
        assert sentence in page, sentence
    dashboard.client.headers["Accept-Language"] = "en"
    page = " ".join(html.unescape(dashboard.get("/import").text).split())
    assert "Row 5: Expiry must be a date such as 2026-12-31." in page
    assert "Row 6: Click limit must be a whole number from 1." in page


@ON_SQLITE
def test_time_in_the_error_of_an_import_is_in_the_zone_of_the_account(ana: Person, dashboard: Browser) -> None:
    error = "old.example cannot be read: it limits its requests. Try again after 2026-01-02 23:04:05 UTC."
    _submit(dashboard, f"alias,url\nspring,{SHOP}")
    await_import(ana)
    ana.write(lambda tx: tx.execute(update(import_plans).values(state="failed", error=error)))
    assert "Try again after 2 Jan 2026, 23:04." in dashboard.get("/import").text
    dashboard.submit("/account/timezone", at="/account", timezone="Asia/Kolkata")
    assert "Try again after 3 Jan 2026, 04:34." in dashboard.get("/import").text
    dashboard.client.headers["Accept-Language"] = "de"
    assert "Versuchen Sie es nach 3. Jan. 2026, 04:34 noch einmal." in dashboard.get("/import").text


def test_plan_shows_title_address_and_destination_of_each_row(ana: Person, dashboard: Browser) -> None:
    _submit(dashboard, f"Kürzel;Titel;Zieladresse\nspring;Frühling;{SHOP}\n;;{SHOP}/b\n".replace(";", ","))
    await_import(ana)
    page = dashboard.get("/import").text
    rows = [
        re.sub(r"\s+", " ", re.sub("<[^>]+>", " ", row)) for row in re.findall(r"<li>\s*<div>.*?</li>", page, re.DOTALL)
    ]
    assert re.search(r"Frühling go\.localhost:8000/spring example\.com/shop .*New Row 2", rows[0]), rows
    assert "example.com/shop/b" in rows[1]
    assert "Conflict" not in page, "results without rows have no tab"


@ON_SQLITE
def test_plan_shows_expiry_and_channels_of_a_link(ana: Person, dashboard: Browser) -> None:
    file = f'Kürzel,Ziel,Schlagworte,Läuft ab\nspring,{SHOP},"news,shop,sale,tea",2999-01-31\nplain,{SHOP},,'
    assert _submit(dashboard, file).status_code == 303
    await_import(ana)
    first, second = re.findall(r"<li>\s*<div>(.*?)</div>", dashboard.get("/import").text, re.DOTALL)
    assert re.search(r"expires\s*<time[^>]*>[^<]*2999", first)
    assert re.findall(r'<span class="tag"><bdi>(\w+)</bdi>', first) == ["news", "shop", "sale"]
    assert "+1" in first
    assert "expires" not in second


@ON_SQLITE
def test_plan_that_is_read_shows_progress_and_no_rows(ana: Person, dashboard: Browser) -> None:
    _submit(dashboard, f"alias,url\nspring,{SHOP}")
    await_import(ana)
    busy = {"state": "reading", "busy_until": clock.now() + 60}
    ana.write(lambda tx: tx.execute(update(import_plans).values(**busy)))
    page = dashboard.get("/import").text
    assert '<progress aria-labelledby="state">' in page
    assert "One row was read so far." in page
    assert [text in page for text in ("Rows by result", "No rows", "spring")] == [False] * 3


@ON_SQLITE
@pytest.mark.parametrize(
    ("shown", "path"),
    [
        ({"fate": "", "page": "1"}, "/dashboard/import"),
        ({"fate": "impossible", "page": "2"}, "/dashboard/import?fate=impossible&page=2"),
        ({"fate": "//elsewhere", "page": "x"}, "/dashboard/import"),
    ],
)
def test_correction_returns_to_the_rows_that_were_shown(
    ana: Person, dashboard: Browser, shown: dict[str, str], path: str
) -> None:
    _submit(dashboard, f"alias,url\nbad name,{SHOP}")
    await_import(ana)
    response = dashboard.submit("/import/rows/2", at="/import", alias="good", **shown)
    assert (response.status_code, response.headers["location"]) == (303, path)

"""An account moves to another installation by its archive."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from tests.conftest import BASE, Person
from tests.support.archives import FIREFOX, Move, answers, counts, export, fill, normalized, plan, shift_ids, totals
from tests.support.asgi_client import AsgiClient
from tests.support.databases import ON_SQLITE
from tests.support.imports import SHOP, await_import, run
from tests.support.visits import new_link
from waypost.clicks.stats import verify
from waypost.core import clock
from waypost.core.settings import Settings
from waypost.dashboard import presets
from waypost.db import schema
from waypost.transfer.imports import apply, plan_removal, undo
from waypost.transfer.imports.planner import Options


def test_account_is_equal_after_its_archive_was_imported(
    ana: Person, service: AsgiClient, settings: Settings, cleo: Move, tmp_path: Path
) -> None:
    fill(ana, service)
    ana.get("/urls")  # waits until all clicks are counted
    archive = export(ana, settings, tmp_path / "ana.zip")
    new, new_settings = cleo
    shift_ids(new)
    before = counts(new)
    fates = plan(new, new_settings, archive)
    assert set(fates) == {"create"}, new.get("/import/rows", limit=100)
    assert counts(new) == before
    apply.apply(new.database, new.account, new_settings)
    rows = new.get("/import/rows", limit=100)["data"]["rows"]
    assert {row["fate"] for row in rows} == {"create"}, rows
    old_answers, new_answers = normalized(answers(ana)), normalized(answers(new))
    differences = {
        key: (value, old_answers.get(key)) for key, value in new_answers.items() if value != old_answers.get(key)
    }
    assert differences == {}
    assert new_answers.keys() == old_answers.keys()
    assert new.database.read(verify.differences) == []
    old_file, new_file = (person.get("/files")["list"][0]["shorturl"] for person in (ana, new))
    assert old_file == new_file
    assert new.client.get(new_file[len(BASE) :]).content == b"\x00\xff" * 5000


def test_links_of_an_archive_keep_their_order(ana: Person, settings: Settings, cleo: Move, tmp_path: Path) -> None:
    new_link(ana, "first")
    run(ana, settings, f"alias,url,created\nthird,{SHOP},2021-01-01\nsecond,{SHOP},2020-01-01")
    archive = export(ana, settings, tmp_path / "ana.zip")
    new, new_settings = cleo
    plan(new, new_settings, archive)
    apply.apply(new.database, new.account, new_settings)
    for person in (ana, new):
        assert [link["alias"] for link in person.get("/urls")["data"]["urls"]] == ["third", "second", "first"]


def test_second_import_of_archive_creates_nothing(
    ana: Person, service: AsgiClient, settings: Settings, cleo: Move, tmp_path: Path
) -> None:
    fill(ana, service)
    ana.get("/urls")
    archive = export(ana, settings, tmp_path / "ana.zip")
    new, new_settings = cleo
    plan(new, new_settings, archive)
    apply.apply(new.database, new.account, new_settings)
    before = counts(new), totals(new)
    assert set(plan(new, new_settings, archive)) == {"there"}
    apply.apply(new.database, new.account, new_settings)
    assert (counts(new), totals(new)) == before


def test_undo_removes_everything_that_archive_created(
    ana: Person, service: AsgiClient, settings: Settings, cleo: Move, tmp_path: Path
) -> None:
    fill(ana, service)
    ana.get("/urls")
    archive = export(ana, settings, tmp_path / "ana.zip")
    new, new_settings = cleo
    new.add("channel", name="Mine")
    new.add("url", url="https://example.com/mine", custom="mine")
    new.client.get("/mine")
    new.get("/urls")
    before = totals(new)
    plan(new, new_settings, archive)
    apply.apply(new.database, new.account, new_settings)
    assert new.database.read(verify.differences) == []
    assert totals(new) != before
    assert undo.preview(new.database, new.account).clicks == 0
    undo.undo(new.database, new.account)
    assert totals(new) == before
    assert [item["name"] for item in new.get("/channels")["data"]["channels"]] == ["Mine"]
    assert new.database.read(verify.differences) == []


def test_saved_views_and_styles_are_imported_and_removed_by_undo(
    ana: Person, settings: Settings, cleo: Move, tmp_path: Path
) -> None:
    campaign, code = ana.add("campaign", name="Autumn"), ana.add("qr", type="text", data="x", name="Logo")
    _save(ana, "links", "Autumn", {"campaign": str(campaign), "status": "disabled"})
    _save(ana, "links", "Deleted campaign", {"campaign": "999"})
    _save(ana, "qr", "Blue", {"foreground": "#102040", "former": str(code)})
    _save(ana, "qr", "Mine", {"foreground": "#000001"})
    archive = export(ana, settings, tmp_path / "ana.zip")
    new, new_settings = cleo
    shift_ids(new)
    _save(new, "qr", "MINE", {"foreground": "#000002"})
    before = _presets(new)
    plan(new, new_settings, archive)
    apply.apply(new.database, new.account, new_settings)
    ids = (str(new.get("/campaigns")["data"]["campaigns"][0]["id"]), str(new.get("/qr")["data"]["qrs"][0]["id"]))
    assert _presets(new) == {
        "Autumn": {"campaign": ids[0], "status": "disabled"},
        "Blue": {"foreground": "#102040", "former": ids[1]},
        "MINE": {"foreground": "#000002"},
    }
    assert ids != (str(campaign), str(code))
    _save(new, "qr", "Blue", {"foreground": "#000003"})
    undo.undo(new.database, new.account)
    assert _presets(new) == {**before, "Blue": {"foreground": "#000003"}}


def test_imported_presets_have_known_settings_and_are_limited(
    ana: Person, settings: Settings, cleo: Move, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _save(ana, "qr", "Blue", {"foreground": "#102040", "data": "https://elsewhere.example/", "token": "x"})
    _save(ana, "qr", "Empty", {"data": "https://elsewhere.example/"})
    _save(ana, "links", "View", {"q": "shop", "next": "/elsewhere"})
    for number in range(3):
        _save(ana, "links", f"Further {number}", {"q": "boots"})
    new, new_settings = cleo
    archive = export(ana, settings, tmp_path / "ana.zip")
    monkeypatch.setattr(presets, "MAX", 2)
    plan(new, new_settings, archive)
    c = schema.import_parts.c
    query = select(c.content).where(c.sheet == "presets", c.account == new.account)
    contents = new.database.read(lambda tx: tx.execute(query).scalars().all())
    stored = [row for content in contents for row in content["rows"]]
    assert [(kind, name) for kind, name, _ in stored] == [("qr", "Blue"), ("links", "View"), ("links", "Further 0")]
    apply.apply(new.database, new.account, new_settings)
    assert _presets(new) == {
        "Blue": {"foreground": "#102040"},
        "View": {"q": "shop"},
        "Further 0": {"q": "boots"},
    }


def test_import_of_an_archive_into_its_own_account_keeps_presets_after_undo(
    ana: Person, settings: Settings, tmp_path: Path
) -> None:
    _save(ana, "qr", "Blue", {"foreground": "#102040"})
    for number in range(presets.MAX):
        _save(ana, "links", f"View {number}", {"q": str(number)})
    before = _presets(ana)
    archive = export(ana, settings, tmp_path / "ana.zip")
    ana.write(lambda tx: presets.rename(tx, ana.account, "links", 2, "Renamed"))
    plan(ana, settings, archive)
    apply.apply(ana.database, ana.account, settings)
    assert len(_presets(ana)) == presets.MAX + 1, "the limit holds"
    undo.undo(ana.database, ana.account)
    assert _presets(ana) == {"Renamed" if name == "View 0" else name: values for name, values in before.items()}


def _save(person: Person, kind: presets.Kind, name: str, values: dict[str, str]) -> None:
    person.write(lambda tx: presets.save(tx, person.account, kind, name, values))


def _presets(person: Person) -> dict[str, Any]:
    """Return the settings of all presets by name."""
    c = schema.presets.c
    query = select(c.name, c.settings).where(c.account == person.account)
    return {row.name: row.settings for row in person.database.read(lambda tx: tx.execute(query).all())}


def test_taken_aliases_and_domains_of_others_are_conflicts(
    ana: Person, ben: Person, service: AsgiClient, settings: Settings, tmp_path: Path
) -> None:
    fill(ana, service)
    archive = export(ana, settings, tmp_path / "ana.zip")
    fates = plan(ben, settings, archive)
    rows = ben.get("/import/rows", limit=100)["data"]["rows"]
    by_kind = {(row["kind"], row["fate"]) for row in rows}
    assert {("domain", "impossible"), ("bio", "conflict"), ("qr", "conflict"), ("file", "conflict")} <= by_kind
    assert {("channel", "create"), ("splash", "create")} <= by_kind
    assert fates["conflict"] > 0
    suffixed = plan(ben, settings, archive, Options(conflicts="suffix"))
    assert "conflict" not in suffixed
    apply.apply(ben.database, ben.account, settings)
    assert all(code["link"] for code in ben.get("/qr")["data"]["qrs"])
    assert ben.database.read(verify.differences) == []


def test_archive_cannot_add_domain_whose_other_host_is_taken(
    ana: Person, ben: Person, settings: Settings, cleo: Move, tmp_path: Path
) -> None:
    ana.add("domain", domain="https://brand.example", alsowww=True)
    archive = export(ana, settings, tmp_path / "ana.zip")
    new, new_settings = cleo
    other = new.add("domain", domain="https://www.brand.example")
    assert plan(new, new_settings, archive) == {"impossible": 1}
    (row,) = new.get("/import/rows")["data"]["rows"]
    assert row["reason"] == "alsowww cannot be turned on: www.brand.example is in use already."
    new.remove("domain", other)
    assert plan(new, new_settings, archive) == {"create": 1}
    new.add("domain", domain="https://www.brand.example")  # after the plan
    apply.apply(new.database, new.account, new_settings)
    (row,) = new.get("/import/rows")["data"]["rows"]
    assert (row["fate"], row["reason"]) == (
        "conflict",
        "alsowww cannot be turned on: www.brand.example is in use already.",
    )


def test_visits_of_items_that_stay_behind_count_for_the_account(
    ana: Person, service: AsgiClient, settings: Settings, cleo: Move, tmp_path: Path
) -> None:
    new, new_settings = cleo
    new.add("url", url="https://example.com/mine", custom="taken")
    for alias in ("comes", "taken", "deleted"):
        link = ana.add("url", url="https://example.com/", custom=alias)
        service.get(f"/{alias}", headers={"User-Agent": FIREFOX})
    ana.get("/urls")
    ana.call("DELETE", f"/url/{link}/delete")
    archive = export(ana, settings, tmp_path / "ana.zip")
    before = totals(new)
    assert plan(new, new_settings, archive) == {"create": 1, "conflict": 1}
    apply.apply(new.database, new.account, new_settings)
    assert new.database.read(verify.differences) == []
    assert _clicks(new, "account") == _clicks(ana, "account") == 3
    assert (_clicks(new, "link"), len(new.get("/urls")["data"]["urls"])) == (3, 2)
    undo.undo(new.database, new.account)
    assert totals(new) == before
    assert new.database.read(verify.differences) == []


def test_interrupted_application_resumes_with_the_same_result(
    ana: Person, service: AsgiClient, settings: Settings, cleo: Move, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(ana, service)
    ana.get("/urls")
    archive = export(ana, settings, tmp_path / "ana.zip")
    new, new_settings = cleo
    plan(new, new_settings, archive)
    monkeypatch.setattr(apply, "BATCH", 1)
    monkeypatch.setattr(apply, "MAX_BATCH", 1)
    interruptions = 0

    def interrupt() -> None:
        nonlocal interruptions
        interruptions += 1
        raise _Interruption

    while interruptions < 100:
        try:
            apply.apply(new.database, new.account, new_settings, interrupt)
        except _Interruption:
            continue
        break
    assert interruptions > 20
    old_answers, new_answers = normalized(answers(ana)), normalized(answers(new))
    assert new_answers == old_answers


def _clicks(person: Person, kind: str) -> int:
    c = schema.click_times.c
    query = select(func.sum(c.clicks)).where(c.account == person.account, c.kind == kind)
    return int(person.database.read(lambda tx: tx.execute(query).scalar_one()))


class _Interruption(Exception):
    """The process was interrupted."""


def test_staged_files_are_deleted_with_their_plan(
    ana: Person, service: AsgiClient, settings: Settings, cleo: Move, tmp_path: Path
) -> None:
    fill(ana, service)
    archive = export(ana, settings, tmp_path / "ana.zip")
    new, new_settings = cleo
    plan(new, new_settings, archive)
    due = select(schema.orphan_objects.c.due)
    assert min(new.database.read(lambda tx: tx.execute(due).scalars().all())) > clock.now() + 86_400
    plan_removal.remove(new.database, new.account, 1)
    assert max(new.database.read(lambda tx: tx.execute(due).scalars().all())) <= clock.now()


def test_password_of_link_and_file_is_never_dropped(
    ana: Person, settings: Settings, cleo: Move, tmp_path: Path
) -> None:
    ana.add("url", url="https://example.com/secret", custom="locked", password="a secret")
    ana.call("POST", "/files/upload/a.bin?custom=afile&password=secret", content=b"abc")
    archive = export(ana, settings, tmp_path / "ana.zip")
    new, new_settings = cleo
    plan(new, new_settings, archive)
    apply.apply(new.database, new.account, new_settings)
    assert new.client.get("/locked").status_code == 403
    assert new.client.get("/afile").status_code == 401
    assert new.get("/import")["details"]["losing"] == 2


@ON_SQLITE
def test_api_imports_archive_from_own_file(
    ana: Person, service: AsgiClient, settings: Settings, cleo: Move, tmp_path: Path
) -> None:
    fill(ana, service)
    content = export(ana, settings, tmp_path / "ana.zip").read_bytes()
    new, _ = cleo
    file = new.call("POST", "/files/upload/ana.zip?password=secret", content=content).json()["id"]
    new.post("/import/add", {"file": file})
    details = await_import(new)
    assert (details["state"], details["source"], details["fates"]["impossible"]) == ("planned", "waypost", 0)
    new.post("/import/apply")
    assert await_import(new)["state"] == "applied"
    assert len(new.get("/bios")["data"]["bios"]) == 3

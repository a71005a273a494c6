"""Application of plans: links, channels, clicks and dates, each exactly once."""

import threading
import unicodedata

import pytest
from sqlalchemy import select, update

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.imports import SHOP, await_response, plan, run
from tests.support.threads import join
from waypost.clicks.stats import verify
from waypost.core.errors import Problem
from waypost.core.settings import Settings
from waypost.db.schema import changes, links
from waypost.db.schema import plans as account_plans
from waypost.transfer.imports import apply, plans
from waypost.transfer.imports.planner import Options

ROWS = 1200


def _many(number: int = ROWS) -> str:
    rows = (f"link-{n},{SHOP}/{n},{'odd' if n % 2 else 'even'},{n}" for n in range(number))
    return "alias,url,tags,clicks\n" + "\n".join(rows)


def _stored(person: Person) -> list[tuple[str, str, int]]:
    query = select(links.c.alias, links.c.url, links.c.clicks).where(links.c.account == person.account)
    return [tuple(row) for row in person.database.read(lambda tx: tx.execute(query.order_by(links.c.id)).all())]


def test_imported_link_keeps_date_clicks_tags_and_texts(ana: Person, service: AsgiClient, settings: Settings) -> None:
    assert service.get("/spring").status_code == 404
    header = "alias,url,title,description,tags,clicks,created,clicklimit,password"
    run(ana, settings, f"{header}\nspring,{SHOP},Spring,Half price,mail|2020,41,2020-10-26T17:20:40+0000,50,secret")
    await_response(service, "/spring", 401)  # asks for the password, in spite of the cached 404
    (listed,) = ana.get("/urls")["data"]["urls"]
    details = ana.details("url", listed["id"])
    assert (details["title"], details["description"], details["longurl"]) == ("Spring", "Half price", SHOP)
    assert (details["clicks"], details["importedclicks"], details["clicklimit"]) == (41, 41, 50)
    assert (details["date"], details["password"]) == ("2020-10-26 17:20:40", True)
    names = {channel["id"]: channel["name"] for channel in ana.get("/channels")["data"]["channels"]}
    assert [names[channel] for channel in details["channel"]] == ["2020", "mail"]


def test_imported_clicks_count_toward_limit_and_totals_verify(
    ana: Person, service: AsgiClient, settings: Settings
) -> None:
    run(ana, settings, f"alias,url,clicks,clicklimit\nlast,{SHOP},9,10")
    assert [service.get("/last").status_code for _ in range(2)] == [302, 410]
    (listed,) = ana.get("/urls")["data"]["urls"]
    assert listed["clicks"] == 10
    assert ana.database.write(verify.differences) == []


def test_aliases_that_differ_by_case_alone_conflict_on_a_domain_that_ignores_case(
    ana: Person, service: AsgiClient, settings: Settings
) -> None:
    ana.add("domain", domain="https://links.example.com", ignorecase=True)
    ana.add("url", url=SHOP, custom="Summer", domain="https://links.example.com")
    file = f"alias,url\nSpring,{SHOP}/1\nSPRING,{SHOP}/2\nsummer,{SHOP}/3"
    options = Options(hosts={"": "links.example.com"})
    assert plan(ana, settings, file, options) == [
        ("create", "spring"),
        ("conflict", "spring"),
        ("conflict", "summer"),
    ]
    apply.apply(ana.database, ana.account, settings)
    for alias in ("Spring", "SPRING", "spring"):
        response = service.get(f"/{alias}", headers={"Host": "links.example.com"})
        assert (response.status_code, response.headers["location"]) == (302, f"{SHOP}/1")
    assert plan(ana, settings, file, options)[0] == ("there", "spring")
    suffixed = plan(ana, settings, file, Options("suffix", hosts=options.hosts))
    assert [alias for _, alias in suffixed] == ["spring", "spring-2", "summer-2"]


def test_links_are_listed_in_order_of_creation(ana: Person, settings: Settings) -> None:
    run(
        ana,
        settings,
        f"alias,url,created\nlate,{SHOP}/1,2024-01-01\nold,{SHOP}/2,2012-03-04 05:06:07\nmid,{SHOP}/3,1600000000000",
    )
    assert [item["alias"] for item in ana.get("/urls")["data"]["urls"]] == ["late", "mid", "old"]


def test_link_with_hashed_password_is_disabled(ana: Person, service: AsgiClient, settings: Settings) -> None:
    run(ana, settings, f"alias,url,password\nsecret,{SHOP},$2b$12$abcdefghijkl\nflag,{SHOP}/2,true")
    assert [service.get(path).status_code for path in ("/secret", "/flag")] == [403, 403]


def test_second_import_creates_nothing_and_updates_changed_links(
    ana: Person, service: AsgiClient, settings: Settings
) -> None:
    run(ana, settings, _many(600))
    before = _stored(ana)
    assert {fate for fate, _ in plan(ana, settings, _many(600))} == {"there"}
    apply.apply(ana.database, ana.account, settings)
    assert _stored(ana) == before
    assert service.get("/link-7").headers["location"] == f"{SHOP}/7"
    changed = _many(600).replace(f"{SHOP}/7,", "https://example.com/moved,")
    assert [item for item in plan(ana, settings, changed) if item[0] != "there"] == [("changed", "link-7")]
    apply.apply(ana.database, ana.account, settings)
    await_response(service, "/link-7", 302, "https://example.com/moved")
    assert len(_stored(ana)) == 600


def test_suffixed_link_is_there_in_second_import(ana: Person, ben: Person, settings: Settings) -> None:
    ben.add("url", url=SHOP, custom="taken")
    run(ana, settings, f"alias,url\ntaken,{SHOP}", Options("suffix"))
    assert [alias for alias, _, _ in _stored(ana)] == ["taken-2"]
    assert [fate for fate, _ in plan(ana, settings, f"alias,url\ntaken,{SHOP}", Options("suffix"))] == ["there"]


def test_replaced_link_is_never_open_without_its_password(ana: Person, service: AsgiClient, settings: Settings) -> None:
    ana.add("url", url=SHOP, custom="mine")
    run(ana, settings, f"alias,url,password\nmine,{SHOP}/2,$2b$12$abcdefghijkl", Options("replace"))
    assert service.get("/mine").status_code == 403


def test_alias_taken_after_planning_is_conflict(ana: Person, ben: Person, settings: Settings) -> None:
    plan(ana, settings, f"alias,url\none,{SHOP}\ntwo,{SHOP}/2")
    taken = ben.add("url", url=SHOP, custom="one")
    apply.apply(ana.database, ana.account, settings)
    assert [alias for alias, _, _ in _stored(ana)] == ["two"]
    assert ben.details("url", taken)["alias"] == "one"
    current = ana.database.read(lambda tx: plans.current(tx, ana.account))
    assert [row.fate for row in plans.rows(ana.database, ana.account, current.id)] == ["conflict", "create"]
    assert ana.get("/urls")["data"]["result"] == 1


def test_interrupted_import_resumes_at_its_batch(ana: Person, settings: Settings) -> None:
    plan(ana, settings, _many())
    made = ana.database.read(lambda tx: plans.current(tx, ana.account))
    assert ana.database.write(lambda tx: apply.apply_batch(tx, ana.account, made.id, settings, 500))

    def interrupted(tx: object) -> None:
        apply.apply_batch(tx, ana.account, made.id, settings, 500)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ana.database.write(interrupted)
    assert len(_stored(ana)) == 500
    apply.apply(ana.database, ana.account, settings)
    assert _stored(ana) == [(f"link-{n}", f"{SHOP}/{n}", n) for n in range(ROWS)]
    assert ana.get("/urls")["data"]["result"] == ROWS


def test_two_runners_apply_each_batch_once(ana: Person, settings: Settings) -> None:
    plan(ana, settings, _many())
    runners = [threading.Thread(target=apply.apply, args=(ana.database, ana.account, settings)) for _ in range(2)]
    for runner in runners:
        runner.start()
    join(*runners)
    assert _stored(ana) == [(f"link-{n}", f"{SHOP}/{n}", n) for n in range(ROWS)]


def test_batch_adds_one_line_to_change_log(ana: Person, settings: Settings) -> None:
    query = select(changes.c.id)
    before = len(ana.database.read(lambda tx: tx.execute(query).all()))
    plan(ana, settings, _many())
    made = ana.database.read(lambda tx: plans.current(tx, ana.account))
    while ana.database.write(lambda tx: apply.apply_batch(tx, ana.account, made.id, settings, 500)):
        pass
    assert len(_stored(ana)) == ROWS
    assert len(ana.database.read(lambda tx: tx.execute(query).all())) == before + 3


def test_import_keeps_cached_answers_of_other_links(ana: Person, service: AsgiClient, settings: Settings) -> None:
    ana.add("url", url=SHOP, custom="warm")
    assert service.get("/warm").status_code == 302
    assert service.get("/link-1").status_code == 404
    run(ana, settings, _many(3))
    await_response(service, "/link-1", 302)


def test_import_above_limit_of_plan_stops_before_batch(ana: Person, settings: Settings) -> None:
    ana.write(lambda tx: tx.execute(update(account_plans).values(item_limit=700)))
    with pytest.raises(Problem, match="Your plan allows 700 links"):
        run(ana, settings, _many())
    assert len(_stored(ana)) == 500
    ana.write(lambda tx: tx.execute(update(account_plans).values(item_limit=None)))
    apply.apply(ana.database, ana.account, settings)
    assert len(_stored(ana)) == ROWS


def test_tags_are_the_channels_with_equal_names(ana: Person, settings: Settings) -> None:
    composed, decomposed = "Köln", unicodedata.normalize("NFD", "KÖLN")
    existing = ana.add("channel", name=composed)
    run(ana, settings, f"alias,url,tags\na,{SHOP}/a,{decomposed}|Größe\nb,{SHOP}/b,köln|GRÖSSE|größe")
    channels = {channel["name"]: channel["id"] for channel in ana.get("/channels")["data"]["channels"]}
    assert (len(channels), channels[composed]) == (2, existing)
    for link in ana.get("/urls")["data"]["urls"]:
        assert sorted(ana.details("url", link["id"])["channel"]) == sorted(channels.values())

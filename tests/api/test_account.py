"""The account: what it shows, and changing its e-mail address and password (decisions 14 and 15)."""

import json
import re
from typing import Any

import time_machine
from sqlalchemy import select, update

from tests.conftest import BASE, PASSWORD, Person
from tests.support.assertions import refused
from tests.support.databases import ON_BOTH_DATABASES
from waypost.core import credentials
from waypost.db.schema import accounts
from waypost.items.accounts import ops

TAKEN = "That e-mail address is taken. Please use another one."


def _stored(person: Person) -> Any:
    query = select(accounts).where(accounts.c.id == person.account)
    return person.database.read(lambda tx: tx.execute(query).mappings().one())


def _password_matches(person: Person, password: str) -> bool:
    return credentials.password_matches(_stored(person)["password"], password)


def _set(person: Person, **columns: Any) -> None:
    person.write(lambda tx: tx.execute(update(accounts).where(accounts.c.id == person.account).values(columns)))


def test_account_contains_no_secrets(ana: Person, ben: Person) -> None:
    for person, name in ((ana, "ana"), (ben, "ben")):
        body = person.get("/account")
        assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", body["data"].pop("registered"))
        assert body == {
            "error": 0,
            "data": {
                "id": person.account,
                "email": f"{name}@example.com",
                "username": name,
                "avatar": f"{BASE}/u/{name}/avatar.svg",
                "status": "free",
                "plan": "free",
                "expires": "9999-12-31 23:59:59",
            },
        }


def test_account_status_follows_plan(ana: Person) -> None:
    def move(tx: Any) -> None:
        plan = ops.add_plan(tx, name="studio", status="pro", rate_limit=100, upload_limit=1)
        tx.execute(update(accounts).where(accounts.c.id == ana.account).values(plan=plan.id))

    ana.write(move)
    account = ana.get("/account")["data"]
    assert (account["status"], account["plan"]) == ("pro", "studio")


def test_account_times_are_utc(ana: Person) -> None:
    _set(ana, expires=1_900_000_000, registered=1_000_000_000)
    account = ana.get("/account")["data"]
    assert (account["expires"], account["registered"]) == ("2030-03-17 17:46:40", "2001-09-09 01:46:40")


def test_email_and_password_change_alone_or_together(ana: Person) -> None:
    for body, email, password in (
        ({"email": "one@example.com"}, "one@example.com", PASSWORD),
        ({"password": "8 signs!"}, "one@example.com", "8 signs!"),
        ({"password": "p" * 128}, "one@example.com", "p" * 128),
        ({"password": "ünï 🦊 words"}, "one@example.com", "ünï 🦊 words"),
        ({"email": "two@example.com", "password": "both of them"}, "two@example.com", "both of them"),
        ({"email": "two@example.com"}, "two@example.com", "both of them"),
        ({"email": "TWO@example.com"}, "TWO@example.com", "both of them"),
        ({"email": "three@example.com", "username": "x", "id": 9, "plan": "pro"}, "three@example.com", "both of them"),
    ):
        update = ana.put("/account/update", body)
        assert update.keys() == {"error", "message"}, body
        assert ana.get("/account")["data"]["email"] == email, body
        assert _password_matches(ana, password), body
    account = ana.get("/account")["data"]
    assert (account["id"], account["username"], account["plan"]) == (ana.account, "ana", "free")


def test_new_password_replaces_old_one(ana: Person, ben: Person) -> None:
    before, bens = _stored(ana), _stored(ben)
    assert _password_matches(ana, PASSWORD)
    with time_machine.travel(before["password_changed"] + 500, tick=False):
        ana.put("/account/update", {"email": "other@example.com"})
        assert _stored(ana)["password_changed"] == before["password_changed"]
        ana.put("/account/update", {"password": "their new password"})
    after = _stored(ana)
    assert after["password"] != before["password"]
    assert after["password"].startswith("$argon2id$")
    assert "their new password" not in str(dict(after))
    assert after["password_changed"] == before["password_changed"] + 500  # ends the older browser sessions
    assert _password_matches(ana, "their new password")
    assert not _password_matches(ana, PASSWORD)
    assert dict(_stored(ben)) == dict(bens)
    assert ana.get("/account")  # the key keeps working


@ON_BOTH_DATABASES
def test_email_is_unique_ignoring_case(ana: Person, ben: Person) -> None:
    for taken in ("ben@example.com", "BEN@example.com", "ben@EXAMPLE.com", "Ben@Example.Com"):
        body = {"email": taken, "password": "not this one"}
        assert refused(ana.call("PUT", "/account/update", body), 400, "email") == TAKEN, taken
    assert ana.get("/account")["data"]["email"] == "ana@example.com"
    assert _password_matches(ana, PASSWORD)
    ben.put("/account/update", {"email": "moved@example.com"})
    ana.put("/account/update", {"email": "BEN@example.com"})  # free now
    assert refused(ben.call("PUT", "/account/update", {"email": "ben@example.com"}), 400, "email") == TAKEN


def test_invalid_email_is_rejected(ana: Person) -> None:
    before = dict(_stored(ana))
    emails: tuple[Any, ...] = (
        *(" ", "ana", "ana@", "@example.com", "ana@@example.com", "ana @example.com"),
        *("ana@example..com", ".ana@example.com", "ana@-example.com", "ana@example.com\n", "a\u0000na@example.com"),
        *("ana@[127.0.0.1]", "Ana <ana@example.com>", "ana@example.com, ben@example.com", "mailto:ana@example.com"),
        *(
            "ana@" + "x" * 64 + ".com",
            "ana@" + "x." * 130 + "com",
            "x" * 300,
            "\ud800@a.com",
        ),
        *(None, 5, True, 1.5, [], {}, ["ana@example.com"]),
    )
    for email in emails:
        body = {"email": email, "password": "not this one"}
        refused(ana.call("PUT", "/account/update", content=json.dumps(body).encode()), 400, "email")
    assert dict(_stored(ana)) == before


def test_invalid_password_is_rejected(ana: Person) -> None:
    before = dict(_stored(ana))
    passwords: tuple[Any, ...] = ("1234567", "x" * 129, "x" * 100_000, "\ud800" * 8, None, 12345678, True, [], {})
    for password in passwords:
        body = {"email": "not@example.com", "password": password}
        refused(ana.call("PUT", "/account/update", content=json.dumps(body).encode()), 400, "password")
    assert dict(_stored(ana)) == before


def test_blank_email_or_password_is_left_as_it_is(ana: Person) -> None:
    ana.put("/account/update", {"email": "", "password": "new pass 1"})
    assert (ana.get("/account")["data"]["email"], _password_matches(ana, "new pass 1")) == ("ana@example.com", True)
    ana.put("/account/update", {"email": "new@example.com", "password": ""})
    assert (ana.get("/account")["data"]["email"], _password_matches(ana, "new pass 1")) == ("new@example.com", True)
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert ana.call("PUT", "/account/update", content=b"email=&password=new+pass+2", headers=form).status_code == 200
    assert _password_matches(ana, "new pass 2")


def test_empty_account_update_is_rejected(ana: Person) -> None:
    before = dict(_stored(ana))
    for body in (None, {}, {"username": "anna"}, {"email": "", "password": ""}):
        assert refused(ana.call("PUT", "/account/update", body), 400, "email") == "Send email, password or both."
    assert dict(_stored(ana)) == before

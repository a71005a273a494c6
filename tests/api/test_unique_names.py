"""Names that must be unique are compared in their folded form, on creation, change, restoration and upgrade."""

import unicodedata
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

import pytest
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import Connection, select, text, update

from tests.conftest import Person
from tests.support.assertions import refused
from tests.support.databases import ON_BOTH_DATABASES
from tests.support.trash import entries, move, restore
from waypost.auth import people
from waypost.core.errors import Problem
from waypost.db import crud, schema
from waypost.db.migrations import versions
from waypost.items.accounts import ops
from waypost.items.accounts import ops as accounts

pytestmark = ON_BOTH_DATABASES  # unique indexes and migrations of names
_NFC, _NFD = "Köln", unicodedata.normalize("NFD", "Köln")
_PAIRS = ((_NFC, _NFD), (_NFD, "KÖLN"), ("Straße", "STRASSE"), ("İstanbul", "istanbul"), ("News", "ne\u200bWS"))
_TABLES: Mapping[str, str] = {"campaign": "campaigns", "channel": "channels", "utm": "utm_templates"}
_EACH_NOUN = pytest.mark.parametrize("noun", _TABLES)


@_EACH_NOUN
def test_equal_name_in_another_form_is_refused_as_the_same_name(ana: Person, ben: Person, noun: str) -> None:
    for first, second in _PAIRS:
        item = ana.add(noun, name=first)
        other = ana.add(noun, name=f"Not {first}")
        same = refused(ana.call("POST", f"/{noun}/add", {"name": first}), 400, "name")
        assert refused(ana.call("POST", f"/{noun}/add", {"name": second}), 400, "name") == same
        assert refused(ana.call("PUT", f"/{noun}/{other}/update", {"name": second}), 400, "name") == same
        ben.remove(noun, ben.add(noun, name=second))
        ana.update(noun, item, name=second)
        assert _name(ana, noun, item) == second
        ana.update(noun, item, name="Another")
        ana.update(noun, other, name=second)
        ana.remove(noun, other)
        ana.remove(noun, item)


def test_campaign_without_name_gets_one_that_no_other_has(ana: Person) -> None:
    first = ana.add("campaign")
    ana.add("campaign", name=f"CAMPAIGN {first + 2}")
    assert ana.details("campaign", ana.add("campaign"))["name"] == f"Campaign {first + 2} (2)"


@_EACH_NOUN
def test_upgrade_keeps_names_that_are_equal_by_now(ana: Person, ben: Person, noun: str) -> None:
    names = {name: ana.add(noun, name=f"{index}") for index, name in enumerate((_NFC, _NFD, "KÖLN", "Bonn"))}
    theirs = ben.add(noun, name=_NFD)
    ana.write(_downgrade)
    table = schema.metadata.tables[_TABLES[noun]]
    for name, item in names.items():
        ana.write(lambda tx: tx.execute(update(table).where(table.c.id == item).values(name=name)))  # noqa: B023  # called at once
    ana.write(_upgrade)
    assert {name: _name(ana, noun, item) for name, item in names.items()} == {name: name for name in names}
    assert _name(ben, noun, theirs) == _NFD
    for name, item in names.items():
        ana.update(noun, item, name=name)  # as a form does that changes something else
        refused(ana.call("POST", f"/{noun}/add", {"name": name.lower()}), 400, "name")
    id_by_name = ana.database.read(
        lambda tx: crud.ids_by_name(tx, table, [*names, "köln"], table.c.account == ana.account)
    )
    assert id_by_name == names | {"köln": names[_NFC]}
    refused(ana.call("PUT", f"/{noun}/{names['KÖLN']}/update", {"name": "köln"}), 400, "name")
    ana.update(noun, names["KÖLN"], name="Essen")
    refused(ana.call("POST", f"/{noun}/add", {"name": "ESSEN"}), 400, "name")


def test_upgrade_folds_names_of_plans_and_keys_of_email_addresses(ana: Person, ben: Person) -> None:
    ana.write(_downgrade)
    ana.write(lambda tx: _set_email_key(tx, ana.account, "i\u0307nes@example.com"))
    ana.write(lambda tx: _set_email_key(tx, ben.account, "i\u0307vo@example.com"))
    ana.write(_upgrade)
    assert ana.write(lambda tx: accounts.find(tx, "INES@example.com")).id == ana.account
    assert ana.write(lambda tx: accounts.find(tx, "ivo@example.com")).id == ben.account
    free = [ana.write(lambda tx: accounts.plan_id(tx, name)) for name in ("FREE", "free")]  # noqa: B023  # called at once
    assert free[0] == free[1]


@_EACH_NOUN
def test_item_that_an_older_version_deleted_is_restored_with_its_name(ana: Person, noun: str) -> None:
    item = ana.add(noun, name=_NFC)
    move(ana.database, ana, noun, item)
    content = ana.database.read(lambda tx: tx.execute(select(schema.trash.c.content)).scalar_one())
    del content["row"]["name_key"]
    ana.write(lambda tx: tx.execute(update(schema.trash).values(content=content)))
    namesake = ana.add(noun, name=_NFD)
    with pytest.raises(Problem, match="Rename it"):
        restore(ana.database, ana, entries(ana.database, ana))
    ana.remove(noun, namesake)
    restore(ana.database, ana, entries(ana.database, ana))
    assert _name(ana, noun, item) == _NFC
    refused(ana.call("POST", f"/{noun}/add", {"name": _NFD}), 400, "name")


def test_plan_is_found_and_unique_in_any_form_of_its_name(ana: Person) -> None:
    def add(tx: Connection, name: str) -> int:
        limits = {"rate_limit": 1, "upload_limit": 1}
        return accounts.add_plan(tx, name=name, status="pro", **limits).id

    plan = ana.write(lambda tx: add(tx, _NFC))
    for name in (_NFC, _NFD, "KÖLN"):
        assert ana.write(lambda tx: accounts.plan_id(tx, name)) == plan  # noqa: B023  # called at once
        with pytest.raises(Problem, match="There is a plan with that name already"):
            ana.write(lambda tx: add(tx, name))  # noqa: B023  # called at once
    ana.write(lambda tx: ops.change_plan(tx, _NFD, name="KÖLN", rate_limit=2))
    ana.write(lambda tx: add(tx, "Bonn"))
    with pytest.raises(Problem, match="There is a plan with that name already"):
        ana.write(lambda tx: ops.change_plan(tx, "köln", name="BONN"))
    for change in (
        lambda tx: ops.change_plan(tx, "FREE", name="Gratis"),
        lambda tx: ops.remove_plan(tx, "Free"),
    ):
        with pytest.raises(Problem, match="cannot be renamed or deleted"):
            ana.write(change)
    ana.write(lambda tx: ops.remove_plan(tx, _NFD))


def test_sign_in_and_registration_compare_email_addresses_in_one_form(ana: Person) -> None:
    address = "jörg@example.com"
    ana.put("/account/update", {"email": address.upper()})
    for name in (unicodedata.normalize("NFD", address), f" {address} "):
        login = ana.database.read(lambda tx: people.named(tx, name))  # noqa: B023  # called at once
        assert login is not None
        assert login.person == ana.account
    with pytest.raises(Problem, match="That e-mail address is taken"):
        ana.write(lambda tx: accounts.add(tx, email=unicodedata.normalize("NFD", address), username="eva", password=""))


def _name(person: Person, noun: str, item: int) -> str:
    table = schema.metadata.tables[_TABLES[noun]]
    query = select(table.c.name).where(table.c.id == item, table.c.account == person.account)
    return person.database.read(lambda tx: str(tx.execute(query).scalar_one()))


def _set_email_key(tx: Connection, account: int, key: str) -> None:
    tx.execute(update(schema.accounts).where(schema.accounts.c.id == account).values(email_key=key))


def _downgrade(tx: Connection) -> None:
    """Undo the migration of the names."""
    for table in (*_TABLES.values(), "plans"):
        (index,) = (index for index in schema.metadata.tables[table].indexes if "name_key" in index.columns)
        tx.execute(text(f"DROP INDEX {index.name}"))
        tx.execute(text(f"ALTER TABLE {table} DROP COLUMN name_key"))


def _upgrade(tx: Connection) -> None:
    """Run the migration of the names."""
    assert versions.__file__ is not None
    (path,) = Path(versions.__file__).parent.glob("*_unique_names.py")
    with Operations.context(MigrationContext.configure(tx)):
        import_module(f"{versions.__name__}.{path.stem}").upgrade()

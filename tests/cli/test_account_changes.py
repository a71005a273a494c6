"""Changes and deletion of accounts and plans on the command line."""

from contextlib import closing

import pytest
from sqlalchemy import func, select

from tests.support.cli import ANA, RunCommand, call, opened, status
from waypost.admin.installation import open_database
from waypost.core.settings import Settings
from waypost.db import schema

BEN = ("account", "add", "--email", "ben@example.com", "--username", "ben", "--json")


def test_account_is_renamed(run_migrated: RunCommand) -> None:
    run_migrated(*ANA)
    run_migrated(*BEN)
    assert run_migrated("account", "rename", "ana", "Anna").out == "ana is now Anna.\n"
    assert run_migrated("account", "show", "anna", "--json").json["username"] == "Anna"
    assert run_migrated("account", "show", "ana").code == 1
    taken = run_migrated("account", "rename", "anna", "BEN")
    assert (taken.code, "That username is taken" in taken.err) == (1, True)
    assert 'cannot have " "' in run_migrated("account", "rename", "anna", "a b").err


def test_account_changes_plan(run_migrated: RunCommand) -> None:
    key = run_migrated(*ANA, "--json").json["apikey"]
    run_migrated("plan", "add", "gold", "--rate-limit", 1)
    assert run_migrated("account", "plan", "ana", "gold").out == "ana is on the plan gold.\n"
    assert run_migrated("account", "show", "ana", "--json").json["plan"] == "gold"
    assert [status(key) for _ in range(2)] == [200, 429]
    assert "there is none called 'silver'" in run_migrated("account", "plan", "ana", "silver").err


def test_account_has_own_rate_limit_until_reset(run_migrated: RunCommand) -> None:
    key = run_migrated(*ANA, "--json").json["apikey"]
    assert run_migrated("account", "limit", "ana", 1).out == "ana has 1 request per minute and API key.\n"
    assert run_migrated("account", "show", "ana", "--json").json["rate_limit"] == 1
    assert [status(key) for _ in range(2)] == [200, 429]
    assert run_migrated("account", "limit", "ana").out == "ana has the rate limit of its plan.\n"
    assert run_migrated("account", "show", "ana", "--json").json["rate_limit"] is None
    assert status(key) == 200


def test_plan_is_renamed_and_its_limits_removed(run_migrated: RunCommand) -> None:
    run_migrated("plan", "add", "gold", "--storage-limit", 5, "--item-limit", 6)
    changed = run_migrated("plan", "change", "gold", "--name", "silver", "--status", "free", "--no-item-limit")
    assert changed.out == "Plan gold changed.\n"
    plan = run_migrated("plan", "list", "--json").json[1]
    assert (plan["name"], plan["status"], plan["storage_limit"], plan["item_limit"]) == ("silver", "free", 5, None)
    assert run_migrated("plan", "change", "silver").code == 2
    assert run_migrated("plan", "change", "silver", "--no-item-limit", "--item-limit", 1).code == 2
    assert "There is a plan with that name" in run_migrated("plan", "change", "silver", "--name", "free").err
    assert "cannot be renamed" in run_migrated("plan", "change", "free", "--name", "basic").err


def test_plan_in_use_is_not_deleted(run_migrated: RunCommand) -> None:
    run_migrated("plan", "add", "gold")
    run_migrated(*ANA, "--plan", "gold")
    refused = run_migrated("plan", "delete", "gold")
    assert (refused.code, refused.err) == (
        1,
        "waypost: One account uses the plan gold. Put it on another plan first.\n",
    )
    run_migrated("account", "plan", "ana", "free")
    assert run_migrated("plan", "delete", "gold").out == "Plan gold deleted.\n"
    assert [plan["name"] for plan in run_migrated("plan", "list", "--json").json] == ["free"]
    assert "none called 'gold'" in run_migrated("plan", "delete", "gold").err
    assert "cannot be renamed or deleted" in run_migrated("plan", "delete", "free").err


def test_deleted_account_leaves_only_reserved_aliases(run_migrated: RunCommand) -> None:
    run_migrated(*ANA)
    key = run_migrated(*BEN).json["apikey"]
    call(key, "POST", "/api/url/add", json={"url": "https://example.com/", "custom": "bens-link"})
    call(key, "POST", "/api/files/upload/a.txt", content=b"content")
    question = run_migrated("account", "delete", "ben")
    assert question.code == 2
    refusal = " ".join(question.err.split())
    assert "the account ben <ben@example.com> with 1 link, 1 file, its statistics" in refusal
    assert "API keys in 7 days" in refusal
    assert run_migrated("account", "delete", "ben", "--now", "--yes").out == "ben is deleted, with 1 link, 1 file.\n"
    assert [account["username"] for account in run_migrated("account", "list", "--json").json] == ["ana"]
    assert status(key) == 401
    with opened() as client:
        assert client.request("GET", "/bens-link", headers={"Host": "go.localhost:8000"}).status_code == 404
    with closing(open_database(Settings())) as database:
        for table, number in ((schema.links, 0), (schema.files, 0), (schema.api_keys, 1), (schema.orphan_objects, 1)):
            query = select(func.count()).select_from(table)
            assert database.read(lambda tx, query=query: tx.scalar(query)) == number  # type: ignore[misc]


def test_only_administrator_is_not_deleted(run_migrated: RunCommand) -> None:
    key = run_migrated(*ANA, "--json").json["apikey"]
    run_migrated(*BEN)
    for option in ((), ("--now",)):
        refused = run_migrated("account", "delete", "ana", *option, "--yes")
        assert (refused.code, "This is the only administrator." in refused.err, status(key)) == (1, True, 200)
    run_migrated("account", "admin", "ben")
    assert run_migrated("account", "delete", "ana", "--now", "--yes").out == "ana is deleted, with no items.\n"
    assert run_migrated("account", "delete", "ben", "--now", "--yes").code == 0
    assert run_migrated("account", "list", "--json").json == []


@pytest.mark.parametrize("command", ["show", "delete"])
def test_unknown_account_is_named(run_migrated: RunCommand, command: str) -> None:
    assert "id carla" in run_migrated("account", command, "carla").err


@pytest.mark.parametrize("option", [(), ("--later",)])
def test_scheduled_deletion_is_shown_and_canceled(run_migrated: RunCommand, option: tuple[str, ...]) -> None:
    key = run_migrated(*ANA, "--json").json["apikey"]
    scheduled = run_migrated("account", "delete", "ana", *option, "--yes")
    assert status(key) == 200
    assert (scheduled.code, "ana will be deleted on" in scheduled.out) == (0, True)
    assert run_migrated("account", "show", "ana", "--json").json["deletion"] in scheduled.out
    assert run_migrated("account", "delete", "ana", "--cancel").out == "ana is not deleted.\n"
    assert run_migrated("account", "show", "ana", "--json").json["deletion"] is None


def test_scheduled_account_can_be_deleted_at_once(run_migrated: RunCommand) -> None:
    run_migrated(*ANA)
    assert "--now deletes it at once" in run_migrated("account", "delete", "ana", "--yes").out
    assert run_migrated("account", "delete", "ana", "--now", "--yes").out == "ana is deleted, with no items.\n"
    assert run_migrated("account", "list", "--json").json == []


def test_options_of_deletion_exclude_each_other(run_migrated: RunCommand) -> None:
    run_migrated(*ANA)
    refused = run_migrated("account", "delete", "ana", "--now", "--cancel", "--yes")
    assert (refused.code, "exclude each other" in refused.err) == (2, True)
    assert [account["username"] for account in run_migrated("account", "list", "--json").json] == ["ana"]

"""The format of aliases (decision 19)."""

from collections.abc import Callable

import pytest

from tests.support.asgi_client import AsgiClient
from tests.support.databases import ON_SQLITE
from waypost.errors import Problem
from waypost.urls import alias_rules


@pytest.mark.parametrize(
    "alias",
    ["abc", "ABC", "123", "a-b", "a_b", "---", "___", "-ab", "ab-", "x" * 50, "Spring2030", "apis", "my-api", "api2"],
)
def test_alias_of_three_to_fifty_plain_characters_is_accepted(alias: str) -> None:
    assert alias_rules.check(alias, field="custom") == alias


@pytest.mark.parametrize(
    "alias",
    [
        *("", "a", "ab", "x" * 51, "x" * 5000),
        *("a b", " abc", "abc ", "abc\n", "abc\r\n", "a\tb", "abc\x00", "a/b", "../a", "a.b", "a%62c", "a+b", "a~b"),
        *("a?b", "a#b", "a&b", "a'b", 'a"b', "a\\b", "a:b", "a@b", "abc,", "<abc>"),
        *(
            "\u00e4\u00f6\u00fc",
            "a\uff42c",
            "ab\u0441",
            "abc\u200b",
            "\u202eabc",
            "\u0663\u0664\u0665",
            "\uff58\uff59\uff5a",
            "🦊🦊🦊",
            "\u017ftr",
            "\u212ael",
        ),
    ],
)
def test_alias_of_other_length_or_characters_is_rejected(alias: str) -> None:
    with pytest.raises(Problem, match=r"custom must be 3 to 50 characters") as refusal:
        alias_rules.check(alias, field="custom")
    assert refusal.value.field == "custom"


@pytest.mark.parametrize("change_case", [str.lower, str.upper, str.title])
def test_reserved_word_is_rejected_in_any_case(change_case: Callable[[str], str]) -> None:
    for word in (word for word in alias_rules.RESERVED if len(word) >= 3):
        with pytest.raises(Problem, match="slug is reserved by this service") as refusal:
            alias_rules.check(change_case(word), field="slug")
        assert refusal.value.field == "slug"


def test_paths_of_the_service_are_reserved() -> None:
    paths = {"api", "login", "static", "healthz", "readyz", "metrics", "r", "u", "qr", "well-known", "robots"}
    assert paths <= alias_rules.RESERVED


@ON_SQLITE
def test_alias_cannot_hide_path_of_the_service(service: AsgiClient) -> None:
    for word in ("healthz", "readyz", "api"):
        assert word in alias_rules.RESERVED
        assert service.get(f"/{word}").json().get("code") != "missing"  # the response for an unknown alias
    assert service.get("/no-such-alias").json()["code"] == "missing"


@pytest.mark.parametrize("length", [3, 6, 12, 50])
def test_generated_alias_is_valid(length: int) -> None:
    aliases = [alias_rules.generate(length) for _ in range(500)]
    assert all(alias_rules.check(alias, field="custom") == alias for alias in aliases)
    assert {len(alias) for alias in aliases} == {length}
    assert not set("".join(aliases)) & set("aeiouAEIOU01l")


def test_reserved_word_is_not_generated(monkeypatch: pytest.MonkeyPatch) -> None:
    letters = iter("QrStLsxyz")
    monkeypatch.setattr("waypost.urls.alias_rules.secrets.choice", lambda _letters: next(letters))
    assert alias_rules.generate(3) == "xyz"


def test_generated_aliases_are_distinct() -> None:
    assert len({alias_rules.generate() for _ in range(2000)}) == 2000
    assert {len(alias_rules.generate()) for _ in range(10)} == {6}

"""The format of aliases (decisions 19 and 61)."""

import sys
import unicodedata
from collections.abc import Callable

import pytest

from tests.support.asgi_client import AsgiClient
from tests.support.databases import ON_BOTH_DATABASES, ON_SQLITE
from tests.support.visits import ACCEPT_JSON
from waypost.core.errors import Problem
from waypost.urls import alias_rules


@pytest.mark.parametrize(
    "alias",
    [
        "a",
        "ab",
        "-",
        "abc",
        "ABC",
        "123",
        "a-b",
        "a_b",
        "---",
        "___",
        "-ab",
        "ab-",
        "x" * 50,
        "Spring2030",
        "apis",
        "my-api",
        "api2",
    ],
)
def test_alias_of_one_to_fifty_plain_characters_is_accepted(alias: str) -> None:
    assert alias_rules.check(alias, field="custom") == alias


@pytest.mark.parametrize(
    "alias",
    [
        *("", "x" * 51, "x" * 5000),
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
    with pytest.raises(
        Problem, match=r"custom (must be 1 to 50 characters|cannot have \".*\". Use only A-Z)"
    ) as refusal:
        alias_rules.check(alias, field="custom")
    assert refusal.value.field == "custom"


@pytest.mark.parametrize(
    "alias",
    [
        *(
            "a",
            "7",
            "x" * 190,
            "a.b",
            "...",
            "~",
            "-_.~",
            "a/b/c",
            "2030/spring",
            "api",
            "login",
            "robots",
            "overlay/a/b",
        ),
        *("\u00e4", "gr\u00fc\u00dfe/2030", "\u0441\u0442\u043e", "\u65e5\u672c", "\u0663\u0664", "\u1e9e"),
        *("🦊", "😢👍", "\u2713", "\u2192", "a🦊/b", "👍🏽", "👩\u200d🚀", "🏳\u200d🌈", "1\u20e3", "🇩🇪", "\u20ac5"),
        "🏴" + "".join(map(chr, (0xE0067, 0xE0062, 0xE0065, 0xE006E, 0xE0067, 0xE007F))),
        *("\u0939\u093f\u0928\u094d\u0926\u0940", "a/qr", "vcard", ".well-known.txt", "pixel"),
    ],
)
def test_alias_on_domain_can_be_almost_any_path(alias: str) -> None:
    assert alias_rules.check(alias, host="brand.example", field="custom") == alias


@ON_BOTH_DATABASES
@pytest.mark.parametrize("aliases", ["ΟΔΟΣ οδος οδοσ", "STRAẞE straße", "CAFÉ café"])
def test_aliases_that_differ_by_case_are_one(aliases: str) -> None:
    assert len({alias_rules.fold_case(alias) for alias in aliases.split()}) == 1


def test_alias_does_not_become_longer_without_case() -> None:
    assert alias_rules.fold_case("\u0130" * 190 + "\u00c4") == "i" * 190 + "\u00e4"
    for code in (*range(0xD800), *range(0xE000, sys.maxunicode + 1)):
        character = unicodedata.normalize("NFC", chr(code))
        folded = alias_rules.fold_case(character)
        assert len(folded) <= len(character), hex(code)
        assert alias_rules.fold_case(folded) == folded, hex(code)


def test_symbols_on_domain_are_stored_without_style() -> None:
    for typed, stored in (
        ("\u2764\ufe0f", "\u2764"),
        ("\u2764\ufe0f\ufe0f", "\u2764"),
        ("\u2713\ufe0e/1\ufe0f\u20e3", "\u2713/1\u20e3"),
        ("🏳\ufe0f\u200d🌈", "🏳\u200d🌈"),
        ("\u4fae\ufe00a\ufe0f", "\u4fae\ufe00a\ufe0f"),
    ):
        assert alias_rules.check(typed, host="brand.example", field="custom") == stored


def test_alias_on_domain_is_stored_composed() -> None:
    assert alias_rules.check("u\u0308/e\u0301", host="brand.example", field="custom") == "\u00fc/\u00e9"
    assert alias_rules.check("u\u0308" * 190, host="brand.example", field="custom") == "\u00fc" * 190


@pytest.mark.parametrize(
    "alias",
    [
        *(
            "",
            "x" * 191,
            "\u00e4" * 191,
            "/",
            "/a",
            "a/",
            "a//b",
            ".",
            "..",
            "a/..",
            "./a",
            "a/./b",
            "a b",
            "a\tb",
            "a\n",
        ),
        *(
            *("a+b", "a+", "+", "🦊+", "@ana", "hello!", "a&b", "a:b", "a,b", "\u00e4@b"),
            "a*b",
            "a%62",
            "a?b",
            "a#b",
            "a\\b",
            'a"b',
            "a<b",
            "a|b",
            "a^b",
            "a\x00",
            "\x7f",
            "a\u00a0b",
        ),
        *(
            "🦊\u200d",
            "\u200d🦊",
            "a\u200db",
            "\u20e3",
            "\u02c2",
            "\u2800",
            "\ufffd",
            "\ufffc",
            "a\u2571b",
            "\u2237\u2236",
        ),
        *(
            "\u0301a",
            "a/\u0301",
            "7\u0301",
            "\u00bd",
            "\u2167",
            "a\u200b",
            "a\u200d",
            "\u202ea",
            "\ufeffa",
            "\ud800",
        ),
        *("\uff0f", "\u2024\u2024", "a\u2044b"),
    ],
)
def test_alias_on_domain_with_other_characters_is_rejected(alias: str) -> None:
    with pytest.raises(
        Problem, match=r"custom (must be 1 to 190|cannot have \".*\". Use) letters, digits, "
    ) as refusal:
        alias_rules.check(alias, host="brand.example", field="custom")
    assert refusal.value.field == "custom"


@pytest.mark.parametrize(
    "alias",
    [".well-known", ".well-known/waypost/1", "robots.txt", "favicon.ico", "pixel/consent", "overlay/5", "overlay/x"],
)
def test_paths_that_the_service_needs_on_domains_are_reserved(alias: str) -> None:
    with pytest.raises(Problem, match="custom is reserved by this service"):
        alias_rules.check(alias, host="brand.example", field="custom")


@pytest.mark.parametrize("slug", ["a", "ab", "x" * 51, "a.b"])
def test_slug_of_other_length_is_rejected(slug: str) -> None:
    with pytest.raises(Problem, match=r"slug (must be 3 to 50 characters|cannot have \".*\". Use only A-Z)") as refusal:
        alias_rules.check_slug(slug, field="slug")
    assert refusal.value.field == "slug"


@pytest.mark.parametrize("change_case", [str.lower, str.upper, str.title])
def test_reserved_word_is_rejected_in_any_case(change_case: Callable[[str], str]) -> None:
    for word in alias_rules.RESERVED:
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
        assert service.get(f"/{word}", headers=ACCEPT_JSON).json().get("code") != "missing"
    # The response for an unknown alias.
    assert service.get("/no-such-alias", headers=ACCEPT_JSON).json()["code"] == "missing"


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


@pytest.mark.parametrize(
    ("alias", "host", "message"),
    [
        ("a b", "", 'alias cannot have " ". Use only A-Z, a-z, 0-9, _ and -.'),
        ("caf\u00e9s", "", 'alias cannot have "\u00e9". Use only A-Z, a-z, 0-9, _ and -.'),
        ("abc\u200b", "", 'alias cannot have "U+200B". Use only A-Z, a-z, 0-9, _ and -.'),
        (
            "caf\u00e9?x",
            "go.example",
            'alias cannot have "?". Use letters, digits, emoji, _, -, . and ~, with / between parts.',
        ),
        ("x" * 51, "", "alias must be 1 to 50 characters from A-Z, a-z, 0-9, _ and -."),
        (
            "a//b",
            "go.example",
            "alias must be 1 to 190 letters, digits, emoji, _, -, . or ~, with / between parts.",
        ),
    ],
)
def test_refusal_names_the_character(alias: str, host: str, message: str) -> None:
    with pytest.raises(Problem) as refused:
        alias_rules.check(alias, host=host, field="alias")
    assert refused.value.message == message

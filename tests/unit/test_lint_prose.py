"""The prose linter: each rule rejects one text and accepts a similar one."""

import runpy
from pathlib import Path
from typing import Any

import pytest

LINTER: dict[str, Any] = runpy.run_path(str(Path(__file__).parents[2] / "scripts" / "lint_prose.py"))
# In lower case, because the linter also checks the string literals of this file that read as sentences.
WORD_RULES = (
    ("the page is for nobody", "the page is for visitors"),
    ("the user who signs in", "the owner signs in on whois pages"),
    ("the page shows what is stored", "the page shows what the link stores"),
    ("the client is told the status", "the client gets the status"),
    ("the client connects anew", "the client connects again"),
    ("the ingester runs meanwhile", "the ingester runs at the same time"),
    ("a button beside the field", "a button next to the field"),
    ("the service sends a letter", "a letter or digit starts the alias; one-letter aliases are rejected"),
    ("the worker looks at the queue", "the worker looks up the alias"),
    ("the upload goes on", "the upload continues"),
    ("the upload was broken off", "the upload was interrupted"),
    ("the row stands in the table", "TTL stands for time to live"),
    ("a robot opens the link", "a bot reads robots.txt"),
    ("the check is switched off", "the check is disabled"),
    ("tick the links", "select the links"),
    ("the operator adds a plan", "the administrator adds a plan"),
    ("the limit is used up", "the limit is reached"),
    ("the link is at its end", "the link has expired"),
    ("the link leads to a page", "the link redirects to a page"),
    ("choose a short name", "choose an alias"),
    ("a page on the way", "a page in between"),
    ("the client is kept out", "the client is rejected"),
    ("redirects are quicker", "redirects are faster"),
)


def _findings(path: Path, content: str) -> list[str]:
    path.write_text(content)
    findings = [finding for text in LINTER["read"](path) for finding in LINTER["check"](text)]
    if path.suffix == ".py":
        findings += LINTER["check_names"](path)
    return [message for _, _, message in findings]


@pytest.mark.parametrize(("rejected", "accepted"), WORD_RULES, ids=[rejected for rejected, _ in WORD_RULES])
def test_word_is_rejected_in_its_vague_sense_only(rejected: str, accepted: str, tmp_path: Path) -> None:
    assert len(_findings(tmp_path / "page.md", rejected)) == 1
    assert _findings(tmp_path / "page.md", accepted) == []


def test_every_word_rule_has_an_example() -> None:
    hints = [hint for _, hint in LINTER["_RULES"]]
    matching = [[hint for pattern, hint in LINTER["_RULES"] if pattern.search(text)] for text, _ in WORD_RULES]
    assert matching == [[hint] for hint in hints]


@pytest.mark.parametrize("word", ["What", "Whether"])
def test_sentence_starting_with_relative_clause_is_rejected(word: str, tmp_path: Path) -> None:
    content = f"The link expired. {word} it counts is kept."
    assert len(_findings(tmp_path / "page.md", content)) == 1
    assert _findings(tmp_path / "page.md", f"The link expired. {word} does it count?") == []
    assert _findings(tmp_path / "page.md", content.replace(word, word.lower())) == []


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("code.py", '"""{}"""'),
        ("code.py", "x = 1  # {}"),
        ("code.py", 'x = "The page: {}"'),
        ("page.md", "- {}"),
        ("page.html", "<p>{}</p>"),
        ("page.html", '{{ _("{}") }}'),
        ("messages.po", 'msgid "{}"'),
        ("code.js", "// {}"),
        ("code.js", 'show("The page: {}")'),
        ("style.css", "/* {} */"),
        ("settings.toml", "# {}"),
        ("Makefile", "# {}"),
    ],
)
def test_prose_of_each_file_type_is_checked(name: str, content: str, tmp_path: Path) -> None:
    assert len(_findings(tmp_path / name, content.replace("{}", "the upload goes on"))) == 1
    assert _findings(tmp_path / name, content.replace("{}", "the upload continues")) == []


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("code.py", "def somebody(): return 'anybody'"),
        ("page.md", "```\nthe upload goes on\n```\nthe field `anew` and [a link](meanwhile.md)"),
        ("page.html", "<script>// the upload goes on</script>"),
        ("picture.svg", "the upload goes on"),
    ],
)
def test_code_is_not_checked(name: str, content: str, tmp_path: Path) -> None:
    assert _findings(tmp_path / name, content) == []


@pytest.mark.parametrize("name", sorted(LINTER["IDENTIFIERS"]))
@pytest.mark.parametrize("content", ["{} = 1", "def store({}): pass", "for {} in (1, 2): pass"])
def test_variable_without_information_is_rejected(name: str, content: str, tmp_path: Path) -> None:
    assert len(_findings(tmp_path / "code.py", content.replace("{}", name))) == 1
    assert _findings(tmp_path / "code.py", content.replace("{}", f"{name}_links")) == []


@pytest.mark.parametrize("word", sorted(LINTER["TEST_WORDS"]))
def test_test_name_with_vague_word_is_rejected(word: str, tmp_path: Path) -> None:
    assert len(_findings(tmp_path / "code.py", f"def test_link_{word}_redirects(): pass")) == 1
    assert _findings(tmp_path / "code.py", f"def link_{word}_redirects(): pass") == []
    assert _findings(tmp_path / "code.py", f"def test_link_{word}ly_redirects(): pass") == []

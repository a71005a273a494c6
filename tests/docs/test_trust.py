"""SECURITY.md and PRIVACY.md match the code."""

import re

from tests.support.source import ROOT, SOURCE

_ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \| `([^`|]+)` \| `([^`|]+)::(\w+)` \|$", re.MULTILINE)


def test_every_attack_names_existing_code_and_test() -> None:
    section = (ROOT / "SECURITY.md").read_text().partition("### Attacks and defenses")[2].partition("### Not")[0]
    rows = _ROW.findall(section)
    assert len(rows) == section.count("\n| ") - 2  # without the head
    for attack, _, code, test_file, test in rows:
        assert (ROOT / code).is_file(), attack
        assert f"def {test}(" in (ROOT / test_file).read_text(), attack


def test_privacy_names_every_cookie_and_existing_settings() -> None:
    text = (ROOT / "PRIVACY.md").read_text()
    code = "\n".join(path.read_text() for path in SOURCE.rglob("*.py"))
    cookies = set(re.findall(r'"((?:wp|waypost)_[a-z]+)"', "\n".join(re.findall(r"^\w*COOKIE\w*.*$", code, re.M))))
    assert {"wp_visitor", "waypost_theme"} <= cookies
    assert {name for name in cookies if f"`{name}`" not in text} == set()


def test_documents_name_existing_settings() -> None:
    settings = (ROOT / "docs" / "settings.md").read_text()
    for page in ("SECURITY.md", "PRIVACY.md", "README.md"):
        for name in re.findall(r"`(WAYPOST_[A-Z_]+?)(?:_FILE)?[=`]", (ROOT / page).read_text()):
            assert f"`{name}`" in settings, (page, name)

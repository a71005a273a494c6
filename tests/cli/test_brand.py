"""`waypost brand`: name, color and logo of the installation."""

from pathlib import Path

import pytest

from tests.support.brands import logo
from tests.support.cli import RunCommand


def test_brand_is_set_shown_and_removed(run_migrated: RunCommand, working_folder: Path) -> None:
    run = run_migrated
    (working_folder / "logo.png").write_bytes(logo())
    assert run("brand", "show", "--json").json == {"name": None, "color": None, "logo": None}
    assert run("brand", "set", "--name", " Acme ", "--color", "05f", "--logo", "logo.png").code == 0
    shown = run("brand", "show", "--json").json
    assert (shown["name"], shown["color"], shown["logo"][:4]) == ("Acme", "#0055ff", "PNG,")
    assert run("brand", "set", "--color", "").code == 0
    shown = run("brand", "show", "--json").json
    assert (shown["name"], shown["color"], bool(shown["logo"])) == ("Acme", None, True)
    assert "Acme" in run("brand", "show").out
    assert run("brand", "remove").code == 0
    assert run("brand", "show", "--json").json == {"name": None, "color": None, "logo": None}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--color", "red"), "color must be a color"),
        (("--name", "a\u202eb"), "name must not have"),
        (("--logo", "logo.svg"), "logo must be a PNG or JPEG picture."),
        (("--logo", "logo.png"), "name is required with a logo"),
        ((), "at least one of"),
    ],
)
def test_invalid_brand_is_rejected(
    run_migrated: RunCommand, working_folder: Path, arguments: tuple[str, ...], message: str
) -> None:
    (working_folder / "logo.png").write_bytes(logo())
    (working_folder / "logo.svg").write_bytes(b"<svg xmlns='http://www.w3.org/2000/svg'/>")
    result = run_migrated("brand", "set", *arguments)
    assert result.code in (1, 2)
    assert message in result.err
    assert run_migrated("brand", "show", "--json").json["name"] is None

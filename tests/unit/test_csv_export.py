"""CSV cells that spreadsheets would interpret as formulas, also after they split a cell."""

import csv
import io
import re

import pytest

from waypost.core import csv_export

SIGNS = "=+-@\uff1d\uff0b\uff0d\uff20"
SPLITTERS = (";", "\t", "\n", "\r", "\r\n", "\v", "\f", "\x85", "\u2028")
BLANKS = ("", " ", "\t", '"', ' "', ";;", "\x00", "\u00a0", "\u200b", "\ufeff")


def _cells(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


def test_no_part_of_a_hostile_cell_starts_a_formula() -> None:
    prefixes = ["", *(f"x{splitter}" for splitter in SPLITTERS)]
    hostile = [f"{prefix}{blank}{sign}cmd;y" for prefix in prefixes for blank in BLANKS for sign in SIGNS]
    for cell in hostile:
        ((written, last),) = _cells(csv_export.lines([[cell, "end"]]))
        assert (written.replace("'", ""), last) == (cell, "end"), repr(cell)
        for part in re.split(r"[;\t\n\v\f\r\x85\u2028]", written):
            assert not re.match(rf'[\s"\x00\u200b\ufeff]*[{SIGNS}]', part), repr(cell)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_no_cell_is_a_formula_whichever_separator_the_spreadsheet_uses(separator: str) -> None:
    text = csv_export.lines([["60", "x;=cmd|' /C calc'!A0;y", 'x;"=1', "x\t=1", "x\n=1", "\uff1d1"]])
    for line in text.splitlines():
        for cell in line.split(separator):
            assert not cell.lstrip(' "\t').startswith(tuple(SIGNS)), cell


def test_harmless_cells_are_quoted_and_unchanged() -> None:
    row = ["a = b", "x-y", "a;b", "2 + 2", "ana@example.com", 'say "no"', "a,b", "", "Hello, @bob"]
    text = csv_export.lines([[*row, 5, -5, None]])
    assert _cells(text) == [[*row, "5", "-5", ""]]
    assert text.startswith('"a = b","x-y",')


@pytest.mark.parametrize("piece", [";", "\t", " ;", '";', "\u200b", "\n "])
def test_long_runs_are_escaped_once(piece: str) -> None:
    ((cell,),) = _cells(csv_export.lines([[f";{piece * 40_000}=1"]]))
    assert cell.endswith("'=1")
    assert cell.count("'") == 1

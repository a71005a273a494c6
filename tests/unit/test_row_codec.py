"""Rows as JSON: exact ones are read again without a loss, readable ones are for people."""

import json

import pytest

from waypost.db import row_codec, schema

_ROW = {"id": 2**53 + 1, "name": "ü", "logo": b"\x00\xff", "gradient": None, "data": {"a": [1, None]}, "dynamic": True}


def test_exact_row_is_read_without_loss() -> None:
    stored = json.loads(json.dumps(row_codec.exact_row(_ROW)))
    assert stored["logo"] == "AP8="
    assert row_codec.decoder(schema.qrs)(stored) == _ROW


@pytest.mark.parametrize("logo", ["AP8", "A*8="])
def test_invalid_bytes_of_exact_row_are_refused(logo: str) -> None:
    with pytest.raises(ValueError, match=r"padding|base64"):
        row_codec.decoder(schema.qrs)({"logo": logo})


def test_rows_of_older_versions_get_defaults() -> None:
    defaults = row_codec.defaults(schema.qrs)
    assert (defaults["margin"], defaults["caption"], defaults["logo"]) == (4, "", None)


def test_times_and_bytes_are_readable() -> None:
    values = {"expiry": 1_790_000_000, "sha256": b"\x01\xff", "size": 7}
    converted = {
        name: convert(value) if (convert := row_codec.readable(schema.files.c[name])) else value
        for name, value in values.items()
    }
    assert converted == {"expiry": "2026-09-21 14:13:20", "sha256": "01ff", "size": 7}
    assert row_codec.as_time(2**60) == str(2**60)

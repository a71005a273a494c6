"""The examples of docs/client.md, run in order against a running service."""

import re
from pathlib import Path

import pytest

from tests.client.conftest import Service

_PAGE = Path(__file__).resolve().parents[2] / "docs" / "client.md"


def test_examples_run(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```$", _PAGE.read_text(), flags=re.MULTILINE | re.DOTALL)
    code = "\n".join(blocks).replace("https://go.example.com", service.url).replace("wp_…", service.ana)
    variables: dict[str, object] = {}
    exec(compile(code, str(_PAGE), "exec"), variables)
    variables["wp"].close()  # type: ignore[attr-defined]
    output = capsys.readouterr().out
    assert "/spring\n" in output
    assert "11 11\n" in output
    assert "custom That alias is taken" in output
    assert variables["failed"] == []

"""The guides work: their shell blocks are executed next to a running service."""

from pathlib import Path

import pytest

from tests.support.newcomer import newcomer, shell_blocks
from tests.support.source import ROOT

_DOCS = ROOT / "docs"


@pytest.mark.parametrize("name", ["backup", "moderation", "monitoring"])
def test_shell_blocks_of_guide_succeed(name: str, tmp_path: Path) -> None:
    user = newcomer(tmp_path, WAYPOST_METRICS_NETWORKS="127.0.0.1")
    blocks = shell_blocks(_DOCS / f"{name}.md")
    assert blocks
    with user.serving("serve.log"):
        completed = user.shell("\n".join(blocks).replace("http://localhost:8000", user.base))
    assert completed.returncode == 0, completed.stderr
    assert completed.stderr == ""


def test_backup_guide_keeps_fourteen_archives(tmp_path: Path) -> None:
    user = newcomer(tmp_path)
    (nightly,) = [block for block in shell_blocks(_DOCS / "backup.md") if "tail -n +15" in block]
    for day in range(1, 19):
        (tmp_path / "work" / f"waypost-2001-01-{day:02}.tar.gz").write_text("old")
    with user.serving("serve.log"):
        for _ in range(2):
            completed = user.shell(nightly)
            assert completed.returncode == 0, completed.stderr
    archives = sorted(path.name for path in (tmp_path / "work").glob("waypost-*.tar.gz"))
    assert len(archives) == 14
    assert archives[:2] == ["waypost-2001-01-06.tar.gz", "waypost-2001-01-07.tar.gz"]
    assert archives[-1] > "waypost-2026"

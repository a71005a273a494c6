"""Files are replaced completely or not at all, by any number of writers."""

import ast
import os
import threading
import time
from functools import partial
from pathlib import Path

import pytest

from tests.support.server import at_once
from tests.support.source import SOURCE, modules
from waypost.core import data_files

_WRITERS = 8


def test_parallel_writers_leave_one_complete_file(tmp_path: Path) -> None:
    target = tmp_path / "counts.json"
    contents = [bytes([number]) * 100_000 for number in range(_WRITERS)]
    written = threading.Barrier(_WRITERS)

    def write(content: bytes) -> None:
        with data_files.replacing(target) as file:
            file.write(content)
            written.wait(30)  # all are open at once

    at_once([partial(write, content) for content in contents])
    assert target.read_bytes() in contents
    assert list(tmp_path.iterdir()) == [target]


def test_new_file_is_readable_by_owner_only(tmp_path: Path) -> None:
    target = tmp_path / "archive"
    target.touch(0o666)
    with data_files.replacing(target) as file:
        assert Path(file.name).stat().st_mode & 0o777 == 0o600
        data_files.sync(file)
    assert target.stat().st_mode & 0o777 == 0o600


def test_failed_writer_leaves_target_unchanged(tmp_path: Path) -> None:
    target = tmp_path / "archive"
    target.write_bytes(b"old")
    with pytest.raises(TypeError), data_files.replacing(target) as file:
        file.writelines([b"new", "no bytes"])  # type: ignore[list-item]  # the fault of this test
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_abandoned_files_of_a_target_are_deleted_after_a_day(tmp_path: Path) -> None:
    names = ("a.tar.gz.x1.partial", "a.tar.gz.x2.partial", "b.tar.gz.x3.partial", "a.tar.gz")
    for name in names:
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (time.time() - 90_000,) * 2)
    os.utime(tmp_path / names[1])
    with data_files.replacing(tmp_path / "a.tar.gz"):
        pass
    assert {path.name for path in tmp_path.iterdir()} == set(names[1:])


def test_no_other_module_renames_files() -> None:
    # The journal gives each segment a new name, so two writers never share one.
    allowed = {SOURCE / "core" / "data_files.py", SOURCE / "clicks" / "journal.py"}
    for path, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                is_rename = node.func.attr in ("rename", "replace") and len(node.args) == 1 and not node.keywords
                is_os = ast.unparse(node.func) in ("os.rename", "os.replace", "shutil.move")
                assert path in allowed or not (is_rename or is_os), f"{path}:{node.lineno}: use atomic_files"

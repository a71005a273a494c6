"""The Merkle tree of the audit log: its hashes, checkpoints, and what the verification finds."""

import hashlib
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import time_machine
from sqlalchemy import Connection, delete, select, update

from tests.conftest import Person
from tests.support.source import ROOT
from waypost.admin.account_deletion import delete_account
from waypost.audit import checkpoints, log_export, merkle, verification
from waypost.audit.checkpoints import Checkpoint, CheckpointSigner, Key
from waypost.audit.verification import Verification
from waypost.clicks.ingest.ingester import Ingester
from waypost.core import clock
from waypost.core.settings import Settings
from waypost.db import audit_log
from waypost.db.audit_sequence import COLUMNS, SequencedEvent
from waypost.db.database import Database
from waypost.db.schema import audit, audit_checkpoints, audit_tiles, audit_tombstones
from waypost.server import background

_VERIFIER = ROOT / "docs" / "verify_audit.py"
_ORIGIN = "go.example.com/audit"
_DAY = 86_400
# The leaves and roots of the tests of Certificate Transparency, for RFC 6962.
_LEAVES = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]
_ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles of 4 hashes, so that few events make several levels."""
    monkeypatch.setattr(merkle, "TILE", 4)


@pytest.fixture
def log(database: Database, ana: Person) -> Database:
    """A database with 40 events of plans after those of a new account, all with positions."""

    def work(tx: Connection) -> None:
        for number in range(40):
            audit_log.record(tx, None, "plan.created", label=f"Plan {number}")

    assert ana.account
    database.write(work)
    background.sequence_now(database)
    return database


def _sign(database: Database) -> str:
    note = database.write(lambda tx: checkpoints.sign(tx, _ORIGIN))
    assert note is not None
    return note


def _position(database: Database, label: str) -> int:
    query = select(audit.c.position).where(audit.c.label == label)
    return int(database.read(lambda tx: tx.execute(query).scalar_one()))


def test_roots_are_those_of_rfc_6962(database: Database) -> None:
    hashes = [hashlib.sha256(b"\0" + bytes.fromhex(leaf)).digest() for leaf in _LEAVES]

    def work(tx: Connection) -> list[str]:
        for size, leaf in enumerate(hashes):
            merkle.extend(tx, size, [leaf])
        return [merkle.root(tx, size).hex() for size in range(len(hashes) + 1)]

    assert database.write(work) == _ROOTS


@pytest.mark.parametrize("batch", [1, 3, 16, 100])
def test_tree_is_the_same_however_many_events_are_added_at_once(database: Database, batch: int) -> None:
    hashes = [hashlib.sha256(bytes([number])).digest() for number in range(100)]

    def work(tx: Connection) -> list[bytes]:
        for start in range(0, len(hashes), batch):
            merkle.extend(tx, start, hashes[start : start + batch])
        return [merkle.root(tx, size) for size in (1, 4, 5, 16, 63, 64, 65, 99, 100)]

    assert database.write(work) == [_naive_root(hashes[:size]) for size in (1, 4, 5, 16, 63, 64, 65, 99, 100)]


def _naive_root(hashes: Sequence[bytes]) -> bytes:
    if len(hashes) == 1:
        return hashes[0]
    half = 1 << (len(hashes) - 1).bit_length() - 1
    return hashlib.sha256(b"\1" + _naive_root(hashes[:half]) + _naive_root(hashes[half:])).digest()


def test_unchanged_log_is_verified(log: Database) -> None:
    _sign(log)
    result = verification.verify(log)
    assert (result.problems, result.checkpoints) == ([], 1)
    assert result.verified == result.size >= 40
    log.write(lambda tx: audit_log.record(tx, None, "plan.created", label="new"))
    assert verification.verify(log).without_position == 1


def _swap(tx: Connection, first: int, second: int) -> None:
    for old, new in ((first, -1), (second, first), (-1, second)):
        tx.execute(update(audit).where(audit.c.position == old).values(position=new))


_CHANGES: dict[str, tuple[Callable[[Connection, int], object], str]] = {
    "removed": (lambda tx, at: tx.execute(delete(audit).where(audit.c.position == at)), "the event was removed"),
    "changed": (
        lambda tx, at: tx.execute(update(audit).where(audit.c.position == at).values(actor=77)),
        "(plan.created of ",
    ),
    "moved": (lambda tx, at: _swap(tx, at, at + 5), "was moved here from position"),
    "doubled": (
        lambda tx, at: tx.execute(update(audit).where(audit.c.position == at + 1).values(position=at)),
        "there is a second event",
    ),
    "hash changed too": (
        lambda tx, at: tx.execute(
            update(audit_tiles)
            .where(audit_tiles.c.level == 0, audit_tiles.c.number == at // 4)
            .values(hashes=b"x" * 128)
        ),
        "Level 1 of the tree was changed",
    ),
    "false tombstone": (
        lambda tx, at: (
            tx.execute(delete(audit).where(audit.c.position == at)),
            tx.execute(audit_tombstones.insert().values(position=at, owner=1)),
        ),
        "Account 1: 1 events were removed as those of a deleted account, which it is not",
    ),
    "added": (
        lambda tx, at: tx.execute(update(audit).where(audit.c.position == at).values(position=5000)),
        "was added without the service",
    ),
}


@pytest.mark.parametrize("change", _CHANGES)
def test_verification_finds_a_change(log: Database, change: str) -> None:
    position = _position(log, "Plan 20")
    work, problem = _CHANGES[change]
    log.write(lambda tx: work(tx, position))
    problems = verification.verify(log).problems
    assert any(problem in text for text in problems), problems


def test_log_that_was_rewritten_with_its_tree_is_found_by_a_checkpoint(log: Database) -> None:
    note = _sign(log)

    def rewrite(tx: Connection) -> None:
        tx.execute(update(audit).where(audit.c.label == "Plan 20").values(actor=77))
        tx.execute(delete(audit_tiles))
        tx.execute(delete(audit_checkpoints))
        query = select(*COLUMNS).order_by(audit.c.position)
        merkle.append(tx, [SequencedEvent(**row) for row in tx.execute(query).mappings()])

    assert verification.verify(log, note).problems == []
    log.write(rewrite)
    assert verification.verify(log).problems == []
    assert "was rewritten" in verification.verify(log, note).problems[0]


def test_checkpoint_of_another_key_is_refused(log: Database) -> None:
    forged = Key(b"x" * 32).signed(Checkpoint(_ORIGIN, 5, b"y" * 32))
    for note in (forged, "", "a\nb\n\n\N{EM DASH} a b\n", _sign(log).replace("\n", "\n\n", 1)):
        assert "no valid signature" in verification.verify(log, note).problems[0]


def test_checkpoints_are_signed_only_while_the_log_grows(log: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "SECONDS", 0.0)
    signer = CheckpointSigner(log, "go.example.com")
    signer.sign_due()
    signer.sign_due()
    notes = log.read(lambda tx: tx.execute(select(audit_checkpoints.c.note)).scalars().all())
    assert [note.splitlines()[0] for note in notes] == [_ORIGIN]


def test_deleted_account_leaves_tombstones(log: Database, ben: Person) -> None:
    ben.add("channel", name="One")
    background.sequence_now(log)
    note = _sign(log)
    ben.add("channel", name="Two")  # has no position yet
    delete_account(log, ben.account)
    background.sequence_now(log)
    result = _verified(log, note)
    assert result.of_deleted_accounts > 0
    log.write(lambda tx: tx.execute(delete(audit).where(audit.c.label == "Plan 20")))
    assert len(verification.verify(log).problems) == 1


def test_expired_events_are_not_missed(log: Database, settings: Settings) -> None:
    note = _sign(log)
    Ingester(settings, log).delete_expired()
    assert verification.verify(log).expired == 0
    with time_machine.travel(clock.now() + 400 * _DAY):
        log.write(lambda tx: audit_log.record(tx, None, "plan.created", label="later"))
        background.sequence_now(log)
        Ingester(settings, log).delete_expired()
        background.sequence_now(log)
        result = _verified(log, note)
        assert (result.expired, result.verified) == (result.size - 2, 2)
        log.write(lambda tx: tx.execute(delete(audit).where(audit.c.label == "later")))
        assert len(verification.verify(log).problems) == 1


def _verified(database: Database, note: str) -> Verification:
    result = verification.verify(database, note)
    assert result.problems == []
    return result


def test_program_without_our_code_verifies_an_export(log: Database, ben: Person, tmp_path: Path) -> None:
    note = _sign(log)
    ben.add("channel", name="Später")
    background.sequence_now(log)
    delete_account(log, ben.account)
    background.sequence_now(log)
    lines = "".join(log_export.lines(log)).splitlines()
    key = log.read(checkpoints.installation_key).text(_ORIGIN)

    def run(checkpoint: str, lines: Sequence[str], key: str = key) -> tuple[int, str]:
        (tmp_path / "log").write_text("\n".join(lines) + "\n")
        (tmp_path / "note").write_text(checkpoint)
        command = [sys.executable, "-I", str(_VERIFIER), str(tmp_path / "log"), str(tmp_path / "note"), key]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    assert run(note, lines)[0] == 0
    code, text = run(_sign(log), lines)
    assert (code, f"The first {len(lines)} events" in text, " 0 of them" in text) == (0, True, False)
    assert "missing" in run(note, lines[:7] + lines[8:])[1]
    assert "ends at 3 events" in run(note, lines[:3])[1]
    assert "was changed" in run(note, [line.replace("Plan 20", "Plan 99") for line in lines])[1]
    assert run(note, lines, Key(b"x" * 32).text(_ORIGIN))[0] == 1
    assert len(_VERIFIER.read_text().splitlines()) <= 150

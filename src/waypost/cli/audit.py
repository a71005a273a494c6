"""The `waypost audit` commands: verify the audit log, and store proofs of it elsewhere."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from waypost.audit import checkpoints, log_export, verification
from waypost.audit.verification import Verification
from waypost.cli import access, console
from waypost.server import background

audit = typer.Typer(no_args_is_help=True)


@audit.command("checkpoint")
def print_checkpoint(
    key: Annotated[bool, typer.Option("--key", help="Print the public key of checkpoints instead.")] = False,
) -> None:
    """Print a signed checkpoint of all events. Store it on another machine, so that no later change is unseen."""
    origin = checkpoints.origin_of(access.settings().own_host)
    with access.database() as database:
        if key:
            console.write_data(f"{database.read(checkpoints.installation_key).text(origin)}\n")
            return
        background.sequence_now(database)
        note = database.write(lambda tx: checkpoints.sign(tx, origin))
    if note is None:
        console.complain("The audit log is empty.")
        raise typer.Exit(1)
    console.write_data(note)


@audit.command("verify")
def verify_log(
    checkpoint: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="File with a checkpoint that was stored elsewhere."),
    ] = None,
    json: console.AsJson = False,
) -> None:
    """Find events that were removed, changed or moved. Exit code 1 if there are any. The service may run."""
    note = None if checkpoint is None else checkpoint.read_text("utf-8", errors="replace")
    with access.database() as database:
        result = verification.verify(database, note)
    if json:
        console.as_json(asdict(result))
    else:
        _print(result)
    if result.problems:
        raise typer.Exit(1)


def _print(result: Verification) -> None:
    deleted = f"{result.expired} expired, {result.of_deleted_accounts} of deleted accounts"
    covered = f"{console.counted(result.verified, 'events')} and {console.counted(result.checkpoints, 'checkpoints')}"
    console.stdout.print(f"Verified {covered}. Deleted rightly: {deleted}.")
    if result.without_position:
        console.stdout.print(f"{result.without_position} events are too new to be verified. The service adds them.")
    for problem in result.problems:
        console.stdout.print(problem, markup=False)
    count = len(result.problems)
    console.stdout.print(f"{count} problems found." if count else "The log is complete and unchanged.")


@audit.command("export")
def export_log() -> None:
    """Write the log of all accounts as JSON lines for docs/verify_audit.py. Of deleted events, it has the hashes."""
    with access.database() as database:
        background.sequence_now(database)
        for text in log_export.lines(database):
            console.write_data(text)

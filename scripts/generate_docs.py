"""Generate docs/settings.md, docs/commands.md, docs/api.md and docs/api, and the lines about the publication.

usage: .venv/bin/python -m scripts.generate_docs        (or: make docs)

tests/docs/test_docs.py fails when a generated document is outdated.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import typer

from scripts import api_reference, publication, settings_reference
from scripts.markdown import either, table, whole
from waypost.cli.main import LazyCommand, app
from waypost.core.settings import Settings
from waypost.server.routers import api_document

ROOT = Path(__file__).resolve().parent.parent
_WRITTEN = "<!-- Written by `make docs`. Do not edit: change the code and run it again. -->\n"
_COMMANDS = """\
# Commands

{written}
In the folder of the source, after `make run` or `make install`, the command is `.venv/bin/waypost`.
It reads the same [settings](settings.md) as the service, and works on the same data folder, also while
the service runs. Start the service first: only `serve` and `restore` create an installation, and other
commands exit with code 2 without one. Errors are reported in one sentence, with an exit code other than 0;
`waypost --debug` before the command prints the traceback too.
"""
_METHODS = ("get", "post", "put", "delete")


def main() -> None:
    """Write every document that has changed."""
    for path, text in documents().items():
        if not path.exists() or path.read_text() != text:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
            print(f"{path.relative_to(ROOT)} is new")


def documents() -> dict[Path, str]:
    """Return the content of each generated file."""
    return {
        **publication.files(ROOT, publication.read(ROOT)),
        ROOT / "docs" / "settings.md": settings_reference.page(_WRITTEN),
        ROOT / "docs" / "commands.md": _commands(),
        **api_reference.files(ROOT / "docs", _WRITTEN, api_document(Settings(base_url="http://localhost:8000"))),
    }


# Commands


def _commands() -> str:
    lines = [_COMMANDS.format(written=_WRITTEN)]
    for name, command in commands():
        usage = " ".join([name, *_usage(command.params)])
        lines += [f"## `{name}`", "", str(command.help), "", "```", usage, "```", ""]
        rows = [(_param_label(p), _param_values(p), _param_default(p), p.help) for p in command.params]
        if rows:
            lines += [table(("", "Values", "Default", "Meaning"), rows)]
    return "\n".join(lines).rstrip() + "\n"


def commands() -> Iterator[tuple[str, Any]]:
    """Yield every visible command with its full name, such as `waypost account add`."""
    pending = [("waypost", typer.main.get_command(app))]
    while pending:
        name, command = pending.pop(0)
        if name == "waypost remote":  # see docs/remote.md
            continue
        command = command.load() if isinstance(command, LazyCommand) else command
        subcommands = getattr(command, "commands", None)
        if subcommands is None:
            yield name, command
        else:
            pending[:0] = [(f"{name} {word}", sub) for word, sub in subcommands.items() if not sub.hidden]


def _usage(params: list[Any]) -> Iterator[str]:
    for param in params:
        value = "" if param.type_descriptor.annotation is bool else f" {_metavar(param)}"
        usage = _metavar(param) if _is_argument(param) else f"{param.opts[0]}{value}"
        yield usage if param.required else f"[{usage}]"


def _metavar(param: Any) -> str:
    return str(param.metavar or param.name.upper())


def _param_label(param: Any) -> str:
    return f"`{_metavar(param) if _is_argument(param) else param.opts[0]}`"


def _is_argument(param: Any) -> bool:
    return not param.opts[0].startswith("-")


def _param_values(param: Any) -> str:
    kind = param.type_descriptor.annotation
    choices = [choice for choice in get_args(kind) if isinstance(choice, str)]
    if kind is bool:
        return ""
    if int in (kind, *get_args(kind)):
        return whole(param.min, param.max)
    if choices:
        return either(choices)
    return "a path" if kind is Path else "text"


def _param_default(param: Any) -> str:
    if param.required:
        return "needed"
    return "none" if param.default in (None, False, "") else f"`{param.default}`"


if __name__ == "__main__":
    main()

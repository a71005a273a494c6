"""The records of each source's fixtures, and the fields that they set, in the words of docs/importing.md."""

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path
from zoneinfo import ZoneInfo

from tests.support import import_files, import_services
from tests.support.import_services import TOKEN, Service, running
from tests.support.source import SOURCE
from waypost.transfer.imports.file_source import open_file
from waypost.transfer.imports.source_row import DISABLED, Clicks, Record
from waypost.transfer.imports.sources import registry

API, PLUGIN, FILE = "api", "plugin", "file"
_BLOCKS = {"link": "links", "heading": "headings", "text": "texts", "social": "networks", "vcard": "contact cards"}
_LINK_FIELDS = {
    "expiryurl": "destination after expiry",
    "type": "cloaking",
    "status": "archived",
    "geotarget": "country",
    "devicetarget": "device",
    "languagetarget": "language",
    "metatitle": "preview",
    "metadescription": "preview",
    "metaimage": "preview",
}
_ATTRIBUTES = {
    "alias": "alias",
    "host": "host",
    "url": "destination",
    "title": "title",
    "description": "description",
    "tags": "tags",
    "colors": "colors",
    "created": "creation",
    "clicks": "clicks",
    "expiry": "expiry",
    "clicklimit": "click limit",
    "password": "password",
    "folder": "folder",
}
_NO_CONTENT = frozenset({"line", "kind", "source_id", "problem", "losses"})
Variants = dict[tuple[str, str], list[Record]]
"""Records by source, and by the way in which they were read."""


def read_all(folder: Path) -> Variants:
    """Read the fixtures of every source but archives. The clicks of their history are lists."""
    services: dict[tuple[str, str], Service] = {
        ("bitly", API): import_services.bitly(),
        ("chhoto", API): import_services.chhoto(),
        ("dub", API): import_services.dub(),
        ("kutt", API): import_services.kutt(),
        ("rebrandly", API): import_services.rebrandly(),
        ("shlink", API): import_services.shlink(),
        ("short.io", API): import_services.short_io(),
        ("yourls", API): import_services.yourls(with_plugin=False),
        ("yourls", PLUGIN): import_services.yourls(with_plugin=True),
    }
    records = {key: list(_of_service(key[0], service)) for key, service in services.items()}
    dump, page = folder / "dump.sql", folder / "linkstack.json"
    dump.write_text(import_files.DUMP)
    page.write_text(import_files.linkstack())
    saved = folder / "page.html"
    saved.write_text(import_files.linktree())
    files = {
        "chhoto": import_files.chhoto(folder / "urls.sqlite"),
        "kutt": import_files.kutt(folder / "kutt.sqlite"),
        "linkstack": page,
        "linktree": saved,
        "yourls": dump,
    }
    return records | {(name, FILE): list(_of_file(path)) for name, path in files.items()}


def words(records: Sequence[Record]) -> set[str]:
    """Return the words for the fields that at least one importable record sets."""
    importable = [record for record in records if not record.problem]
    return {word for record in importable for word in _words(record)} | _history_words(importable)


def attributes(records: Iterable[Record]) -> set[str]:
    """Return the names of the attributes and fields that at least one record sets."""
    names: set[str] = set()
    for record in records:
        names |= {item.name for item in fields(record) if getattr(record, item.name)} - _NO_CONTENT
        names |= {name for name in _LINK_FIELDS if record.fields.get(name)}
    return names


def assigned(module: str, source: str) -> set[str]:
    """Return the names of the attributes and fields that a source can set: its class, and all that it uses."""
    tree = ast.parse((SOURCE / "transfer" / "imports" / "sources" / f"{module}.py").read_text())
    by_name = {name: node for node in tree.body for name in _defined(node)}
    used, waiting = dict[str, ast.stmt](), [source]
    while waiting:
        name = waiting.pop()
        used[name] = by_name[name]
        names = {node.id for node in ast.walk(used[name]) if isinstance(node, ast.Name)}
        waiting += (names & by_name.keys()) - used.keys()
    return {name for node in used.values() for name in _assigned(node)} - _NO_CONTENT


def _defined(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        yield node.name
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        yield from (
            each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
        )


def _assigned(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name):
            if node.value.id == "record":
                yield node.attr
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Record":
            yield from (keyword.arg for keyword in node.keywords if keyword.arg)
        elif isinstance(node, ast.Constant) and node.value in _LINK_FIELDS.keys() - {"type", "status"}:
            yield node.value
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            yield from {getattr(node.slice, "value", "")} & _LINK_FIELDS.keys()


def _of_service(name: str, service: Service) -> Iterator[Record]:
    with running(service) as server:
        is_own = name in registry.SELF_HOSTED
        options = registry.ServiceOptions(
            server.url if is_own else "",
            ZoneInfo("UTC"),
            trusted_hosts=registry.hosts_of(server.url),
            reader={"sleep": lambda _: None, **({} if is_own else {"base": server.url})},
        )
        source = registry.of_service(name, TOKEN, options)  # type: ignore[arg-type]
        yield from map(_with_clicks, source)


def _of_file(path: Path) -> Iterator[Record]:
    with open_file(path, {}, ZoneInfo("UTC")) as source:
        yield from map(_with_clicks, source)


def _with_clicks(record: Record) -> Record:
    return replace(record, history=list(record.history))


def _words(record: Record) -> Iterator[str]:
    if record.kind == "bio":
        yield "page" if record.alias and record.fields["title"] and record.fields["description"] else "incomplete page"
        yield from (_BLOCKS[block["type"]] for block in record.fields["blocks"])
        if any(clicks for _, clicks, _ in record.blocks):
            yield "clicks by block"
        if record.created:
            yield "creation"
        return
    yield from (word for name, word in _ATTRIBUTES.items() if getattr(record, name))
    yield from (_LINK_FIELDS.get(name, f"unknown field {name}") for name in record.fields)
    if record.is_disabled and DISABLED not in record.losses:
        yield "disabled"


def _history_words(records: Sequence[Record]) -> set[str]:
    clicks: list[Clicks] = [item for record in records for item in record.history]
    if not clicks:
        return set()
    for seconds, word in ((86_400, "clicks by day"), (3_600, "clicks by hour")):
        if all(item.second % seconds == 0 for item in clicks):
            return {word}
    return {"single visits"}

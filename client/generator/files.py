"""Files of the client that are generated from `openapi.json` and from the asynchronous client.

Records are in models/, optional fields of requests in fields/, methods in aio/operations/. The synchronous client in
sync/ is aio/ without `async` and `await`.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .operations import Operation
from .schemas import Schemas, module_name, options

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "openapi.json"
PACKAGE = ROOT / "src" / "waypost_client"
_GENERATED = "# Written by the build of this package, from openapi.json. Do not edit.\n"
_RULES = """
line-length = 120
target-version = "py310"
lint.isort.known-first-party = ["waypost_client"]
"""
_SYNCHRONOUS = {
    "waypost_client.aio": "waypost_client.sync",
    "Awaitable[Page[R]]": "Page[R]",
    "AsyncBaseTransport": "BaseTransport",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "aclose": "close",
    "aread": "read",
    "aiter_raw": "iter_raw",
    "async def": "def",
    "async with": "with",
    "async for": "for",
    "await ": "",
    "Async": "",
}
_NOT_DERIVED = ("aio/__init__.py", "aio/blocking.py")
_OPERATIONS = """
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from waypost_client.aio.requests import AsyncRequests
from waypost_client.calls import check_fields
from waypost_client.pages import PAGE_SIZE
"""
_OPERATION_TYPES = """
if TYPE_CHECKING:
    from typing_extensions import Unpack

    from waypost_client.local_files import Content, Progress, Target
    from waypost_client.records import Downloaded, Page
"""
_RECORDS = """
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from waypost_client.records import Record
"""
_FIELDS = """
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict

if TYPE_CHECKING:
    from typing_extensions import Required
"""


def write_files() -> None:
    """Write every file that has changed; delete those that are not generated any more."""
    files = generated_files()
    for path in generated_paths() - files.keys():
        path.unlink()
    for path, text in files.items():
        if not path.exists() or path.read_text("utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")


def generated_paths() -> set[Path]:
    """Return the generated files that exist."""
    return {path for path in PACKAGE.rglob("*.py") if path.read_text("utf-8").startswith(_GENERATED)}


def generated_files() -> dict[Path, str]:
    """Return the content of each generated file."""
    document = json.loads(DOCUMENT.read_text("utf-8"))
    schemas = Schemas(document["components"]["schemas"])
    by_module = _operations(schemas, document["paths"])
    files = _types(schemas, by_module)
    names = _imports(schemas)
    for module, operations in by_module.items():
        files[f"aio/operations/{module}.py"] = _operation_module(module, operations, names)
    files["aio/operations/__init__.py"] = _all_operations(list(by_module))
    files = _tidy(files)
    written = {f"aio/{path.name}": path.read_text("utf-8") for path in (PACKAGE / "aio").glob("*.py")}
    generated = {name: text.removeprefix(_GENERATED) for name, text in files.items() if name.startswith("aio/")}
    derived = {
        name.replace("aio/", "sync/", 1): _GENERATED + _synchronous(text)
        for name, text in (written | generated).items()
        if name not in _NOT_DERIVED
    }
    return {PACKAGE / name: text for name, text in (files | _tidy(derived)).items()}


def _operations(schemas: Schemas, paths: Mapping[str, Any]) -> dict[str, list[Operation]]:
    """Return the operations by module, and record the modules of the schemas that they use."""
    by_module: dict[str, list[Operation]] = defaultdict(list)
    for path, methods in paths.items():
        for method, described in methods.items():
            operation = Operation(schemas, method.upper(), path, described)
            module = module_name(described["tags"][0])
            by_module[module].append(operation)
            for name in operation.records():
                schemas.use(name, module, is_request=False)
            if operation.body:
                schemas.use(operation.body, module, is_request=True)
    return by_module


def _types(schemas: Schemas, by_module: Mapping[str, list[Operation]]) -> dict[str, str]:
    """Return the modules of records and of fields."""
    bodies = {operation.body for operations in by_module.values() for operation in operations}
    uploads = [operation for operations in by_module.values() for operation in operations if operation.is_upload]
    names = _imports(schemas)
    files = {}
    for module in sorted(set(schemas.responses.values())):
        own = [name for name in schemas.responses if schemas.responses[name] == module]
        body = "\n\n".join(schemas.record(name) for name in schemas.in_order(own))
        imports = _import_lines(body, names["models"], module)
        files[f"models/{module}.py"] = _head("Records of responses", module, _RECORDS + imports) + body
    for module in sorted(set(schemas.requests.values())):
        own = [name for name in schemas.requests if schemas.requests[name] == module]
        parts = [schemas.fields(name, is_body=name in bodies) for name in schemas.in_order(own)]
        body = "\n\n".join(parts + ([options(uploads[0].query, schemas)] if module == "files" else []))
        imports = _import_lines(body, names["fields"], module)
        files[f"fields/{module}.py"] = _head("Optional fields of requests", module, _FIELDS + imports) + body
    for folder in ("models", "fields"):
        title = {"models": "Records of responses.", "fields": "Optional fields of requests."}[folder]
        files[f"{folder}/__init__.py"] = f'{_GENERATED}"""{title}"""\n'
    return files


def _imports(schemas: Schemas) -> dict[str, dict[str, str]]:
    """Return the module of each class, by folder."""
    fields = {schemas.public_name(name): module for name, module in schemas.requests.items()}
    models = {schemas.public_name(name): module for name, module in schemas.responses.items()}
    return {"models": models, "fields": {**fields, "UploadOptions": "files"}}


def _import_lines(body: str, modules: Mapping[str, str], own: str, folder: str = "") -> str:
    """Return the imports of the classes that a body names and that are in other modules."""
    used = [name for name in modules if modules[name] != own and re.search(rf"\b{name}\b", body)]
    kind = folder or ("fields" if "TypedDict" in body else "models")
    return "".join(f"from waypost_client.{kind}.{modules[name]} import {name}\n" for name in used)


def _operation_module(module: str, operations: list[Operation], names: Mapping[str, Mapping[str, str]]) -> str:
    body = "\n".join(operation.source() for operation in operations)
    imports = "".join(_import_lines(body, names[folder], "", folder) for folder in ("models", "fields"))
    head = _head("Operations", module, _OPERATIONS + imports + _OPERATION_TYPES)
    words = module.replace("_", " ")
    return f'{head}class {_class_name(module)}(AsyncRequests):\n    """Operations of the API: {words}."""\n\n{body}'


def _all_operations(modules: list[str]) -> str:
    imports = "".join(f"from waypost_client.aio.operations.{each} import {_class_name(each)}\n" for each in modules)
    bases = ", ".join(_class_name(each) for each in modules)
    head = f'{_GENERATED}"""All operations of the API."""\n\n{imports}'
    return f'{head}\n\nclass AsyncOperations({bases}):\n    """One method for each operation."""\n'


def _head(title: str, module: str, imports: str) -> str:
    words = module.replace("_", " ")
    return f'{_GENERATED}"""{title}: {words}."""\n\nfrom __future__ import annotations\n{imports}\n\n'


def _class_name(module: str) -> str:
    return f"Async{module.title().replace('_', '')}Operations"


def _synchronous(text: str) -> str:
    for asynchronous, synchronous in _SYNCHRONOUS.items():
        text = text.replace(asynchronous, synchronous)
    return text


def _tidy(files: Mapping[str, str]) -> dict[str, str]:
    """Remove unused imports, sort the others, and format."""
    with tempfile.TemporaryDirectory() as name:
        package = Path(name) / PACKAGE.name
        for path, text in files.items():
            (package / path).parent.mkdir(parents=True, exist_ok=True)
            (package / path).write_text(text, "utf-8")
        rules = Path(name) / "ruff.toml"
        rules.write_text(_RULES, "utf-8")
        for command in (("check", "--fix-only", "--select", "F401,I"), ("format",)):
            arguments = (*command, "--quiet", "--config", str(rules), name)
            subprocess.run([sys.executable, "-m", "ruff", *arguments], check=True)  # noqa: S603  # our own arguments
        return {path: (package / path).read_text("utf-8") for path in files}

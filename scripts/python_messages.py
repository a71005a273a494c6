"""Find the texts of the dashboard in Python: arguments of `gettext` and `ngettext`, messages of errors, and labels.

A formatted string becomes a message with a placeholder per value: `f"{field} is required."` is `%(field)s is required.`
The dashboard translates the formatted text by matching it with these messages (docs/decisions.md, "Translated errors").
"""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from waypost.core.errors import not_found
from waypost.db.schema.nouns import inside_sentence

Message = str | tuple[str, str]
# Folders and modules whose texts are never shown in the dashboard, or come from other catalogs.
_OTHER_PARTS = {
    *("cli", "clicks", "db", "demo", "http", "integrations/mcp", "server", "storage"),
    *("transfer/backup/archive.py", "transfer/backup/files.py", "transfer/backup/tables.py", "transfer/migrate"),
    *("visits", "admin/account_deletion.py", "admin/installation.py", "admin/link_moves.py"),
    *("admin/new_accounts.py", "admin/system_checks.py", "admin/two_factor_removal.py"),
    *("admin/health.py", "audit/verification.py", "core/logging.py", "core/metrics.py"),
}
_OTHER_MODULES = {"schemas.py", "api.py", "settings.py", "public.py", "openapi.py", "readme.py", "formats.py"}
_SENTENCE = re.compile(r"(%\(\w+\)s )?[A-Za-z%].*[a-z].* .*[.?]", re.DOTALL)
_LABEL = re.compile(r"[A-Z][a-z]+([ ,.'()/A-Za-z0-9-]*[a-z.)0-9])?")
_HEADER = re.compile(r"[A-Z][A-Za-z]*(-[A-Z][A-Za-z]*)+|[A-Z][a-z]+[A-Z]\w*")
_MIN_LETTERS = 10
_MODULES_WITH_LABELS = {
    *("dashboard/navigation.py", "dashboard/periods.py", "dashboard/statistics.py"),
    *("palette/commands.py", "items/statistics/onboarding.py", "dashboard/app.py"),
    *("items/pixels/pages.py", "items/accounts/deletion.py"),
}
# Their messages can be phrases, which are the reasons in other messages: `it takes too long`.
_MODULES_WITH_REASONS = {
    *("clicks/geo/databases.py", "http/safe_client.py", "storage/factory.py"),
    "transfer/imports/sources/http_reader.py",
}
_NOUNS, _NOUN_TEXTS = "db/schema/nouns.py", ("label", "labels", "new_label", "keywords")
_FINDINGS = "admin/system_checks.py"
_REASON = re.compile(r"([a-z]|%\(\w+\)s )\S* .*[a-z].*[^.]", re.DOTALL)
_VALIDATION = "api/responses.py"
_MODULES_OF_VALIDATORS = {
    *("api/types.py", "items/bios/schemas.py", "http/media_types.py", "transfer/imports/schemas.py"),
    "items/links/targeting.py",
}


def python_messages(package: Path) -> Iterator[Message]:
    """Return the texts of the dashboard in the modules of a package, in the order of the modules."""
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package)
        if name.as_posix() in _MODULES_OF_VALIDATORS:
            yield from _value_errors(ast.parse(path.read_text()))
        if name.as_posix() in _MODULES_WITH_REASONS:
            yield from filter(_REASON.fullmatch, _texts(ast.parse(path.read_text())))
        if name.parts[:2] == ("transfer", "imports"):
            yield from _losses(ast.parse(path.read_text()))
        if name.as_posix() == _NOUNS:
            yield from _nouns(ast.parse(path.read_text()))
        if name.as_posix() == _FINDINGS:
            yield from _findings(ast.parse(path.read_text()))
        if _is_other_module(name):
            continue
        tree = ast.parse(path.read_text())
        if name.as_posix() == _VALIDATION:
            yield from _validation_messages(tree)
            continue
        yield from _messages(tree, labels=name.as_posix() in _MODULES_WITH_LABELS)


def _is_other_module(name: Path) -> bool:
    is_other_part = not _OTHER_PARTS.isdisjoint(path.as_posix() for path in (name, *name.parents))
    is_protocol = name.parts[0] in ("api", "bulk") and name.as_posix() != _VALIDATION
    return is_other_part or is_protocol or name.name in _OTHER_MODULES or name.name.endswith("sheets.py")


def _messages(tree: ast.Module, *, labels: bool) -> Iterator[Message]:
    ignored = set(_documentation(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from _marked(node, ignored)
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            ignored |= {id(part) for part in node.values}
        if isinstance(node, ast.ClassDef) and node.name == "Kind":
            ignored |= {id(part) for part in ast.walk(node)}
        if id(node) in ignored or not (text := _text(node)):
            continue
        is_label = labels and _LABEL.fullmatch(text) and not _HEADER.fullmatch(text)
        if is_label or (_SENTENCE.fullmatch(text) and _has_words(text)):
            yield text


def _texts(tree: ast.AST) -> Iterator[str]:
    """Return all strings but documentation and the parts of formatted strings."""
    ignored = set(_documentation(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            ignored |= {id(part) for part in ast.walk(node) if part is not node}
        if id(node) not in ignored and (text := _text(node)):
            yield text


def _losses(tree: ast.Module) -> Iterator[str]:
    """Return the losses of imported items: texts that are appended to `losses`, and those of functions."""
    for node in ast.walk(tree):
        is_call = isinstance(node, ast.Call) and ast.unparse(node.func).endswith("losses.append")
        is_list = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]).startswith(("self.losses[", "DISABLED"))
        is_function = isinstance(node, ast.FunctionDef) and node.name == "_losses"
        if is_call or is_list or is_function:
            yield from (text for text in _texts(node) if " " in text)


def _nouns(tree: ast.Module) -> Iterator[str]:
    """Return what the nouns are called, and the message for an item that does not exist."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Noun":
            texts = {keyword.arg: _text(keyword.value) for keyword in node.keywords}
            yield from (texts[name] for name in _NOUN_TEXTS)
            yield not_found(inside_sentence(texts["label"])).message


def _findings(tree: ast.Module) -> Iterator[str]:
    """Return the texts and hints of the system checks."""
    for node in ast.walk(tree):
        is_call = isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Finding"
        is_text = isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in ("text", "hint")
        if is_call or is_text:
            yield from (text for text in _texts(node) if " " in text)


def _has_words(message: str) -> bool:
    """Return whether a message is specific enough to be recognized with its values."""
    words = re.sub(r"%\(\w+\)s", "", message)
    return len(re.findall(r"[A-Za-z]", words)) >= _MIN_LETTERS and "\\d" not in words


def _marked(call: ast.Call, used: set[int]) -> Iterator[Message]:
    """Return the texts of `gettext`, `ngettext` and some keyword arguments, and add them to `used`."""
    name = getattr(call.func, "id", getattr(call.func, "attr", ""))
    texts = [arg.value for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
    if name in ("gettext", "gettext_noop") and texts:
        used.add(id(call.args[0]))
        yield texts[0]
    if name == "ngettext" and len(texts) == len(("singular", "plural")):
        used |= {id(call.args[0]), id(call.args[1])}
        yield texts[0], texts[1]
    for keyword in call.keywords:
        if keyword.arg == "keywords" and (text := _text(keyword.value)):
            used.add(id(keyword.value))
            yield text
        if keyword.arg in ("message", "title") and id(keyword.value) not in used and (text := _text(keyword.value)):
            used.add(id(keyword.value))
            if _LABEL.fullmatch(text) or _SENTENCE.fullmatch(text):
                yield text


def _documentation(tree: ast.AST) -> Iterable[int]:
    return (id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr))


def _text(node: ast.AST) -> str:
    """Return the message of a string or formatted string; "" for other nodes."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if not isinstance(node, ast.JoinedStr):
        return ""
    parts, names = [], set[str]()
    for part in node.values:
        if isinstance(part, ast.Constant):
            parts.append(str(part.value).replace("%", "%%"))
        elif isinstance(part, ast.FormattedValue):
            name = _name(part.value)
            while name in names:
                name += "2"
            names.add(name)
            parts.append(f"%({name})s")
    return "".join(parts)


def _name(value: ast.expr) -> str:
    """Return a name for the placeholder of an expression: its last attribute or name."""
    for node in ast.walk(value):
        name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
        if name.strip("_"):
            return name.strip("_").lower()
    return "value"


def _validation_messages(tree: ast.Module) -> Iterator[Message]:
    """Return the descriptions of invalid values: each follows the name of a field."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            for value in node.values:
                text = _text(value)
                if text and " " in text:
                    description = re.sub(r"{(\w+)}", r"%(\1)s", text)
                    yield f"%(field)s {description}."


def _value_errors(tree: ast.Module) -> Iterator[Message]:
    """Return the messages of validators: each follows the name of a field, like those of invalid values."""
    for node in ast.walk(tree):
        is_error = isinstance(node, ast.Call) and getattr(node.func, "id", "") == "ValueError" and node.args
        if is_error and (text := _text(node.args[0])) and text[0].islower():
            yield f"%(field)s {text}."

"""Types of the generated client: frozen records of responses, and typed dictionaries of requests.

A schema that a response contains becomes a record, one that a request contains a typed dictionary. Both are in a module
for the tag of the operations that use them, or in `shared`.
"""

import keyword
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

_SIMPLE = {"string": "str", "integer": "int", "boolean": "bool", "number": "float"}
_EMPTY = {"str": '""', "int": "0", "bool": "False", "float": "0.0"}
_WIDTH = 110


class Schemas:
    """The schemas of the document. `responses` and `requests` have the module of each schema by its name."""

    def __init__(self, schemas: Mapping[str, Any]) -> None:
        self._all = schemas
        self.responses: dict[str, str] = {}
        self.requests: dict[str, str] = {}

    def public_name(self, name: str) -> str:
        """Return the name of a class: LinkOut is Link. Raises ValueError if another schema has it."""
        public = re.sub(r"(Out|In)$", "", name)
        if public != name and public in self._all:
            raise ValueError(f"{name} and {public} would be the same class")
        return public

    def use(self, name: str, module: str, *, is_request: bool) -> None:
        """Record that operations in the module need a schema, with all schemas in it."""
        modules = self.requests if is_request else self.responses
        known = modules.get(name)
        if known in (module, "shared"):
            return
        modules[name] = module if known is None else "shared"
        for inner in re.findall(r"'#/components/schemas/(\w+)'", str(self._all[name])):
            self.use(inner, modules[name], is_request=is_request)

    def page_of(self, name: str) -> tuple[str, str, str] | None:
        """Return (field of the page, field of the items, schema of an item) if the response is a list."""
        fields = self._all[name]["properties"]
        part = "data" if _ref(fields.get("data", {})).endswith("Page") else ""
        page = self._all[_ref(fields["data"])]["properties"] if part else fields
        if "nextpage" not in page:
            return None
        collection = next(key for key, schema in page.items() if schema.get("type") == "array")
        return part, collection, _ref(page[collection]["items"])

    def unwrapped(self, name: str) -> tuple[str, str]:
        """Return (field, schema) of a response that has one object in `details` or `data`, else ("", name)."""
        fields = self._all[name]["properties"].keys() - {"error"}
        part = next(iter(fields)) if len(fields) == 1 else ""
        inner = _ref(self._all[name]["properties"][part]) if part in ("details", "data") else ""
        return (part, inner) if inner else ("", name)

    def body_fields(self, name: str) -> tuple[list[tuple[str, str]], list[str]]:
        """Return the required fields of a body with their types, and the names of the optional ones."""
        schema = self._all[name]
        required = schema.get("required", [])
        fields = schema["properties"]
        hints = [(key, self.hint(fields[key])) for key in fields if key in required]
        return hints, [key for key in fields if key not in required]

    def hint(self, schema: Mapping[str, Any], *, is_response: bool = False) -> str:
        """Return the type of a value."""
        if "anyOf" in schema or "oneOf" in schema:
            kinds = [self.hint(each, is_response=is_response) for each in schema.get("anyOf") or schema["oneOf"]]
            return " | ".join(sorted(dict.fromkeys(kinds), key="None".__eq__))
        if "enum" in schema or "const" in schema:
            allowed = schema.get("enum") or [schema["const"]]
            return "str" if is_response else f"Literal[{', '.join(map(repr, allowed))}]"
        if _ref(schema):
            return self.public_name(_ref(schema))
        if schema.get("type") == "array":
            inner = self.hint(schema["items"], is_response=is_response)
            return f"tuple[{inner}, ...]" if is_response else f"Sequence[{inner}]"
        if schema.get("type") == "object":
            values = schema.get("additionalProperties")
            return f"Mapping[str, {self.hint(values, is_response=is_response) if isinstance(values, dict) else 'Any'}]"
        return "None" if schema.get("type") == "null" else _SIMPLE.get(schema.get("type", ""), "Any")

    def record(self, name: str) -> str:
        """Return the class of a response's object. A field that the server does not send has an empty value."""
        lines = ["@dataclass(frozen=True, kw_only=True)", f"class {self.public_name(name)}(Record):"]
        lines += [docstring([self._all[name].get("description", name)], indent=4)]
        for field, schema in self._all[name]["properties"].items():
            if field != "error" and field.isidentifier():
                hint = self.hint(schema, is_response=True)
                lines += [f"    {identifier(field)}: {_with_default(hint)}", *_field_docstring(schema)]
        return "\n".join(lines) + "\n"

    def fields(self, name: str, *, is_body: bool) -> str:
        """Return the typed dictionary of an object in a request. Required fields of a body are parameters."""
        schema = self._all[name]
        required = schema.get("required", [])
        lines = [f"class {self.public_name(name)}(TypedDict, total=False):"]
        lines += [docstring([f"{schema.get('description', name)}"], indent=4)]
        for field, inner in schema["properties"].items():
            if not (is_body and field in required):
                hint = self.hint(inner)
                kind = f"Required[{hint}]" if field in required else hint
                lines += [f"    {field}: {kind}", *_field_docstring(inner)]
        return "\n".join(lines) + "\n"

    def in_order(self, names: Iterable[str]) -> Iterator[str]:
        """Yield the names so that each follows those that it contains."""
        rest = dict.fromkeys(names)
        while rest:
            inner = {name: set(re.findall(r"'#/components/schemas/(\w+)'", str(self._all[name]))) for name in rest}
            ready = [name for name in rest if not (inner[name] - {name}) & rest.keys()]
            yield from ready
            rest = {name: None for name in rest if name not in ready}


def options(parameters: Sequence[Mapping[str, Any]], schemas: Schemas) -> str:
    """Return the typed dictionary of the query of an upload."""
    lines = ["class UploadOptions(TypedDict, total=False):", '    """Options of an upload."""\n']
    for each in parameters:
        hint = schemas.hint(each["schema"]).removesuffix(" | None")
        lines += [f"    {each['name']}: {hint} | None", *_field_docstring(each)]
    return "\n".join(lines) + "\n"


def docstring(paragraphs: Iterable[str], *, indent: int) -> str:
    """Return a docstring of paragraphs."""
    margin = " " * indent
    given = [text.strip() for text in paragraphs if text.strip()]
    given[0] = given[0] if given[0].endswith(".") else f"{given[0]}."
    lines = [line for text in given for line in [*_wrapped(text, _WIDTH - indent), ""]][:-1]
    end = f"\n{margin}" if len(lines) > 1 else ""
    body = "\n".join(f"{margin}{line}" if line and number else line for number, line in enumerate(lines))
    return f'{margin}"""{body}{end}"""\n'


def identifier(name: str) -> str:
    """Return the name of a parameter or attribute: `from` is from_."""
    return f"{name}_" if keyword.iskeyword(name) else name


def module_name(tag: str) -> str:
    """Return the name of the module of a tag, such as qr_codes."""
    return tag.lower().replace(" ", "_")


def _with_default(hint: str) -> str:
    if hint.startswith("tuple["):
        return f"{hint} = ()"
    kinds = hint.split(" | ")
    if "None" in kinds or hint == "Any":
        return f"{hint} = None"
    if hint.startswith("Mapping["):
        return f"{hint} = field(default_factory=dict[{hint[8:-1]}])"
    empty = _EMPTY.get(kinds[0])
    return f"{hint} = {empty}" if empty else f"{hint} = field(default_factory={hint})"


def _field_docstring(schema: Mapping[str, Any]) -> list[str]:
    text = schema.get("description", "")
    return [docstring([text], indent=4).rstrip("\n")] if text else []


def _wrapped(text: str, width: int) -> list[str]:
    return [line for part in text.splitlines() for line in textwrap.wrap(part, width) or [""]]


def _ref(schema: Mapping[str, Any]) -> str:
    return str(schema.get("$ref", "")).rpartition("/")[2]

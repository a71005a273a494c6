"""Methods of the generated client: one for each operation of the OpenAPI document."""

from collections.abc import Iterable, Mapping
from typing import Any

from .schemas import Schemas, docstring, identifier

_PAGING = ("limit", "page")


class Operation:
    """One operation of the document, as a method of the asynchronous client."""

    def __init__(self, schemas: Schemas, method: str, path: str, operation: Mapping[str, Any]) -> None:
        self.name: str = operation["operationId"]
        self._schemas = schemas
        self._method = method
        self._segments = path.removeprefix("/api/").split("/")
        self._doc = [operation["summary"], operation.get("description", "")]
        parameters = operation.get("parameters", [])
        self._path = [each for each in parameters if each["in"] == "path"]
        self.query = [each for each in parameters if each["in"] == "query"]
        bodies = operation.get("requestBody", {}).get("content", {})
        self.body = _name(bodies.get("application/json", {}).get("schema", {}))
        self.is_upload = "multipart/form-data" in bodies
        success = next(response for status, response in operation["responses"].items() if status.startswith("2"))
        response = success["content"].get("application/json", {}).get("schema", {})
        self.response = _name(response.get("anyOf", [response])[0])  # others have a part of the fields

    def records(self) -> list[str]:
        """Return the schemas of the records that the method returns."""
        page = self._schemas.page_of(self.response) if self.response else None
        return [] if not self.response else [page[2] if page else self._schemas.unwrapped(self.response)[1]]

    def source(self) -> str:
        """Return the method; for a list, also an iterator over all pages."""
        arguments = [f"{each['name']}: {self._schemas.hint(each['schema'])}" for each in self._path]
        if self.is_upload:
            return self._upload(arguments)
        if not self.response:
            return self._export(arguments)
        if page := self._schemas.page_of(self.response):
            return self._list(arguments, *page)
        part, schema = self._schemas.unwrapped(self.response)
        kind = self._schemas.public_name(schema)
        parameters, body = self._body()
        call = [kind, self._request(), *([f'part="{part}"'] if part else []), *self._query_argument(), *body]
        every = [*arguments, *_keyword_only([*self._query_parameters(), *parameters])]
        return self._method_source(every, kind, f"await self._fetch({', '.join(call)})")

    def _request(self) -> str:
        return f'"{self._method}", {self._path_expression()}'

    def _path_expression(self) -> str:
        words = [segment[1:-1] if segment.startswith("{") else f'"{segment}"' for segment in self._segments]
        return f"({', '.join(words)}{',' if len(words) == 1 else ''})"

    def _query_parameters(self, left_out: Iterable[str] = ()) -> list[str]:
        hints = {each["name"]: self._schemas.hint(each["schema"]).removesuffix(" | None") for each in self.query}
        return [f"{identifier(name)}: {hint} | None = None" for name, hint in hints.items() if name not in left_out]

    def _query_argument(self) -> list[str]:
        pairs = ", ".join(f'"{each["name"]}": {identifier(each["name"])}' for each in self.query)
        return [f"query={{{pairs}}}"] if pairs else []

    def _body(self) -> tuple[list[str], list[str]]:
        """Return the parameters and the argument of a JSON body: required fields by name, others as **fields."""
        if not self.body:
            return [], []
        required, optional = self._schemas.body_fields(self.body)
        parameters = [f"{identifier(name)}: {hint}" for name, hint in required]
        pairs = [f'"{name}": {identifier(name)}' for name, _ in required]
        if optional:
            kind = self._schemas.public_name(self.body)
            parameters.append(f"**fields: Unpack[{kind}]")
            pairs.append(f'**check_fields("{self.name}", fields, {kind}.__annotations__)')
        return parameters, [f"body={{{', '.join(pairs)}}}"]

    def _list(self, arguments: list[str], part: str, collection: str, schema: str) -> str:
        kind = self._schemas.public_name(schema)
        call = [kind, self._path_expression(), f'part="{part}"', f'collection="{collection}"', *self._query_argument()]
        every = [*arguments, *_keyword_only(self._query_parameters())]
        method = self._method_source(every, f"Page[{kind}]", f"await self._page({', '.join(call)})")
        filters = [identifier(each["name"]) for each in self.query if each["name"] not in _PAGING]
        passed = [*(each["name"] for each in self._path), *(f"{name}={name}" for name in filters)]
        fetch = f"lambda page: self.{self.name}({', '.join([*passed, 'limit=page_size', 'page=page'])})"
        keywords = _keyword_only([*self._query_parameters(_PAGING), "page_size: int = PAGE_SIZE"])
        signature = ", ".join(["self", *arguments, *keywords])
        return f'''{method}
    def {self.name.removeprefix("list_")}({signature}) -> AsyncIterator[{kind}]:
        """Iterate over the items of all pages of `{self.name}`."""
        return self._pages({fetch})
'''

    def _upload(self, arguments: list[str]) -> str:
        kind = self._schemas.public_name(self.response)
        is_form = not self._path
        every = [*arguments, *(["filename: str"] if is_form else []), "content: Content", "*"]
        every += ["progress: Progress | None = None", "**options: Unpack[UploadOptions]"]
        query = f'check_fields("{self.name}", options, UploadOptions.__annotations__)'
        form = ["form_name=filename"] if is_form else []
        call = [kind, self._request(), "content", *form, f"query={query}", "progress=progress"]
        return self._method_source(every, kind, f"await self._upload({', '.join(call)})")

    def _export(self, arguments: list[str]) -> str:
        every = [*arguments, "target: Target", "*", *self._query_parameters(), "progress: Progress | None = None"]
        call = [self._path_expression(), "target", *self._query_argument(), "progress=progress"]
        return self._method_source(every, "Downloaded", f"await self._export({', '.join(call)})")

    def _method_source(self, arguments: list[str], kind: str, expression: str) -> str:
        head = f"    async def {self.name}({', '.join(['self', *arguments])}) -> {kind}:\n"
        return f"{head}{docstring(self._doc, indent=8)}        return {expression}\n"


def _keyword_only(parameters: list[str]) -> list[str]:
    return parameters if not parameters or parameters[0].startswith("**") else ["*", *parameters]


def _name(schema: Mapping[str, Any]) -> str:
    return str(schema.get("$ref", "")).rpartition("/")[2]

"""Forms of pages as a browser without scripts sends them: with the values that they show."""

from html.parser import HTMLParser

Fields = dict[str, list[str]]


class _Forms(HTMLParser):
    """Collects the fields of each form, in the order of the page."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[tuple[str, Fields]] = []
        self._by_id: dict[str, Fields] = {}
        self._current: Fields | None = None
        self._select: tuple[Fields, str, bool] | None = None
        self._options: list[tuple[str, bool]] = []
        self._text: tuple[Fields, str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._current = self._by_id.setdefault(given.get("id", f"#{len(self.forms)}"), {})
            self.forms.append((given.get("action", "") if given.get("method") == "post" else "", self._current))
        elif tag == "option" and self._select:
            self._options.append((given.get("value", ""), "selected" in given))
        elif tag in ("input", "select", "textarea") and "name" in given and "disabled" not in given:
            self._add(tag, given)

    def _add(self, tag: str, given: dict[str, str]) -> None:
        fields = self._by_id.setdefault(given["form"], {}) if "form" in given else self._current
        if fields is None:
            return
        if tag == "select":
            self._select = (fields, given["name"], "multiple" in given)
            self._options = []
        elif tag == "textarea":
            self._text = (fields, given["name"])
            fields.setdefault(given["name"], []).append("")
        elif given.get("type") not in ("submit", "button", "reset", "image", "file") and (
            given.get("type") not in ("checkbox", "radio") or "checked" in given
        ):
            fields.setdefault(given["name"], []).append(given.get("value", "on"))

    def handle_data(self, data: str) -> None:
        if self._text:
            fields, name = self._text
            fields[name][-1] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._current = None
        elif tag == "textarea" and self._text:
            fields, name = self._text
            fields[name][-1] = fields[name][-1].removeprefix("\n")
            self._text = None
        elif tag == "select" and self._select:
            fields, name, is_multiple = self._select
            selected = [value for value, is_selected in self._options if is_selected]
            if not selected and not is_multiple and self._options:
                selected = [self._options[0][0]]
            if selected:
                fields.setdefault(name, []).extend(selected)
            self._select = None


def fields_of(html: str, action: str) -> Fields:
    """Return the fields of the form that is posted to a path; only a CSRF token if the page has other forms."""
    parser = _Forms()
    parser.feed(html)
    parser.close()
    for target, fields in parser.forms:
        if target == action:
            return {name: [*values] for name, values in fields.items()}
    token = next(fields["token"] for _, fields in parser.forms if "token" in fields)
    return {"token": token}

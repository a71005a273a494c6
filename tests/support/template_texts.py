"""Texts of templates that no catalog translates, and sentences that are glued from pieces."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from html.parser import HTMLParser

from jinja2 import Environment, nodes

TRANSLATORS = frozenset({"_", "gettext", "ngettext"})
_TEXT_ATTRIBUTES = frozenset({"title", "aria-label", "placeholder", "alt", "label", "content"})
_CODE = frozenset({"script", "style", "code", "kbd", "svg"})
_INLINE = frozenset({"a", "b", "bdi", "code", "em", "kbd", "strong", "span", "time"})
# Inline elements that are boxes of their own, such as buttons.
_BOXES = frozenset({"button", "tag", "name", "muted", "label-note", "hint", "visually-hidden"})
_WORD = re.compile(r"[^\W\d_]{2,}")
_ATTRIBUTE = re.compile(r'[\w-]*="[^"]*"')  # of a macro that renders attributes
_CONSTANT = re.compile(r"[A-Z][a-z]+([ ,.'].*)?|.*[a-z]\. .*|[a-z]+ [a-z]+ [a-z]+.*", re.DOTALL)
_EXPRESSION, _BLOCK, _ELSE = "\ue000", "\ue001", "\ue002"
_MARKS = re.compile(f"{_EXPRESSION}(\\d+){_EXPRESSION}|{_ELSE}|{_BLOCK}")
_COMPLETE = re.compile(r"[.?!:…]\Z")
_SEPARATORS = re.compile(r"[^\s\w]")
_ENVIRONMENT = Environment(extensions=["jinja2.ext.i18n"], autoescape=True)


def untranslated_texts(source: str) -> list[str]:
    """Return words in the HTML and in expressions of a template that are no argument of `_` or `ngettext`."""
    template = _Template(source)
    reader = _read(template)
    return [*reader.texts, *_constants(template.tree, is_translated=False)]


def glued_texts(source: str) -> list[str]:
    """Return pairs of a translated text and another text or value next to it, which may be parts of one sentence.

    A text that ends with a period, question mark or colon is complete; punctuation between the two makes them a list.
    """
    template = _Template(source)
    return [*_read(template).glued, *_concatenations(template.tree), *_units(template.tree), *_joined(template.tree)]


class _Template:
    """A template as HTML with a mark for each expression and for each boundary of a block."""

    def __init__(self, source: str) -> None:
        self.tree = _ENVIRONMENT.parse(source)
        self.expressions: list[nodes.Node] = []
        self.html = "".join(self._marked(self.tree))

    def _marked(self, node: nodes.Node) -> Iterator[str]:
        if isinstance(node, nodes.Output):
            for part in node.nodes:
                if isinstance(part, nodes.TemplateData):
                    yield part.data
                else:
                    self.expressions.append(part)
                    yield f"{_EXPRESSION}{len(self.expressions) - 1}{_EXPRESSION}"
        elif isinstance(node, nodes.If):
            yield from self._marked_branches(node)
        else:
            is_block = isinstance(node, nodes.Macro | nodes.CallBlock | nodes.AssignBlock | nodes.For | nodes.Block)
            yield f" {_BLOCK} " if is_block else ""
            for child in node.iter_child_nodes():
                yield from self._marked(child)
            yield f" {_BLOCK} " if is_block else ""

    def _marked_branches(self, node: nodes.If) -> Iterator[str]:
        for number, body in enumerate((node.body, *(branch.body for branch in node.elif_), node.else_)):
            yield f" {_ELSE} " if number else ""
            for child in body:
                yield from self._marked(child)


@dataclass
class _Run:
    """The texts and values in a line, up to the next block element."""

    left: str = ""
    is_left_translated: bool = False
    is_left_complete: bool = False
    separator: str = ""
    has_left: bool = False
    is_after_link: bool = False


class _Reader(HTMLParser):
    """Collects bare words, and translated texts next to others."""

    def __init__(self, expressions: list[nodes.Node]) -> None:
        super().__init__(convert_charrefs=True)
        self.texts: list[str] = []
        self.glued: list[str] = []
        self._expressions = expressions
        self._code = 0
        self._boxes: list[bool] = []
        self._run = _Run()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._code += tag in _CODE
        if tag in _INLINE:
            classes = (dict(attrs).get("class") or "").split()
            self._boxes.append(bool(_BOXES.intersection(classes)) or not {"rel", "dir"}.isdisjoint(dict(attrs)))
        if tag not in _INLINE or self._boxes[-1] or (tag == "a" and self._run.is_after_link):
            self._run = _Run()
        for name, value in attrs:
            if name in _TEXT_ATTRIBUTES and tag not in ("meta", "link"):
                self._add_words(value or "")

    def handle_endtag(self, tag: str) -> None:
        self._code -= tag in _CODE
        if tag not in _INLINE or (self._boxes and self._boxes.pop()):
            self._run = _Run()
        elif tag == "a":
            self._run.is_after_link = True

    def handle_data(self, data: str) -> None:
        if self._code:
            return
        self._add_words(data)
        start = 0
        for mark in _MARKS.finditer(data):
            self._run.separator += data[start : mark.start()]
            start = mark.end()
            if mark[0] in (_BLOCK, _ELSE):
                self._run = _Run()
            else:
                self._add_expression(self._expressions[int(mark[1])])
        self._run.separator += data[start:]

    def _add_words(self, text: str) -> None:
        bare = _ATTRIBUTE.sub(" ", _MARKS.sub(" ", text))
        if _WORD.search(bare):
            self.texts.append(" ".join(bare.split()))

    def _add_expression(self, node: nodes.Node) -> None:
        if _is_component(node):
            self._run = _Run()
            return
        text, is_translated = _shown(node), _is_translated(node)
        run = self._run
        is_glue = not run.is_left_complete and not _SEPARATORS.search(run.separator)
        if run.has_left and is_glue and (is_translated or run.is_left_translated):
            self.glued.append(f"{run.left} + {text}")
        self._run = _Run(text, is_translated, bool(is_translated and _COMPLETE.search(text)), has_left=True)


def _read(template: _Template) -> _Reader:
    reader = _Reader(template.expressions)
    reader.feed(template.html)
    reader.close()
    return reader


def _is_call(node: nodes.Node, names: Collection[str] = TRANSLATORS) -> bool:
    return isinstance(node, nodes.Call) and isinstance(node.node, nodes.Name) and node.node.name in names


def _is_translated(node: nodes.Node) -> bool:
    return _is_call(node) or any(_is_call(call) for call in node.find_all(nodes.Call))


def _is_component(node: nodes.Node) -> bool:
    """Return whether an expression renders an element: a macro, an icon, a block of markup."""
    return isinstance(node, nodes.Call) and not _is_call(node)


def _shown(node: nodes.Node) -> str:
    """Return the first text of an expression, or a name for it."""
    calls = [node] if _is_call(node) else [call for call in node.find_all(nodes.Call) if _is_call(call)]
    constants = [str(const.value) for call in calls for const in call.find_all(nodes.Const)]
    if constants:
        return constants[0]
    names = [name.name for name in node.find_all(nodes.Name)]
    return "{" + (node.name if isinstance(node, nodes.Name) else ".".join(names) or type(node).__name__) + "}"


def _constants(node: nodes.Node, *, is_translated: bool) -> Iterator[str]:
    """Yield string constants of expressions that read as texts and are not translated."""
    if isinstance(node, nodes.Const):
        if not is_translated and isinstance(node.value, str) and _CONSTANT.fullmatch(node.value):
            yield node.value
        return
    is_comparison = isinstance(node, nodes.Compare)
    for child in node.iter_child_nodes():
        yield from _constants(child, is_translated=is_translated or _is_call(node) or is_comparison)


def _concatenations(tree: nodes.Template) -> Iterator[str]:
    """Yield the texts of `~`, `+` and `%` with a translated operand."""
    for kind in (nodes.Concat, nodes.Add, nodes.Mod):
        for node in tree.find_all(kind):
            operands = list(node.iter_child_nodes())
            translated = [operand for operand in operands if _is_call(operand)]
            if translated and not all(_COMPLETE.search(_shown(operand)) for operand in translated):
                yield " ~ ".join(_shown(operand) for operand in operands)


def _units(tree: nodes.Template) -> Iterator[str]:
    """Yield plurals without a placeholder for their number: it is shown next to them."""
    for call in tree.find_all(nodes.Call):
        texts = [str(part.value) for part in call.args[:2] if isinstance(part, nodes.Const)]
        if _is_call(call, {"ngettext"}) and not any("%(" in text for text in texts):
            yield " + ".join(texts)


def _joined(tree: nodes.Node) -> Iterator[str]:
    """Yield texts with an argument that is joined from several values: a translation cannot order them."""
    for call in tree.find_all(nodes.Call):
        if isinstance(call.node, nodes.Name) and call.node.name in TRANSLATORS:
            for argument in call.kwargs:
                if isinstance(argument.value, nodes.Mod | nodes.Concat):
                    yield f"{call.args[0]}: {argument.key}"

"""Regular expressions take linear time: hostile input of a stranger must not block the event loop."""

import ast
import importlib
import itertools
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from re import _constants, _parser
from typing import Any

import pytest

from waypost.visits.request_sniffer import CONNECTION, HOST, compile_layout

SOURCE = Path(__file__).parents[2] / "src"
LONGEST = 8192  # characters: the bound of URLs, fields and headers
_NOTICEABLE = 0.02  # seconds; shorter times are noise
_SHORT = 100  # characters, at which exponential time is noticeable
_LINEAR = 24  # maximum growth of the time when the input grows eightfold; quadratic time grows by 64
_LAYOUT, _ = compile_layout({b"Host": HOST, b"Connection": CONNECTION, b"X": None})
BUILT = {"waypost.visits.request_sniffer": {"layout": _LAYOUT}}
"""Examples of the expressions that are built at run time, by module and name."""
_SCANS = ("findall", "finditer", "split", "sub", "search")
"""They try to match at every position of a text. The first ones continue after a match."""
_FUNCTIONS = frozenset({"match", "fullmatch", *_SCANS})


@dataclass(frozen=True)
class Use:
    """A regular expression and a function that it is used with."""

    module: str
    pattern: re.Pattern[Any]
    function: str

    def __str__(self) -> str:
        return f"{self.module} {self.function} {self.pattern.pattern!r}"

    def seconds(self, text: Any) -> float:
        """Return the CPU time of one call."""
        call: Callable[..., Any] = getattr(self.pattern, self.function)
        arguments = (text[:0], text) if self.function == "sub" else (text,)
        start = time.thread_time()
        result = call(*arguments)
        if self.function == "finditer":
            list(result)
        return time.thread_time() - start


def _modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(SOURCE.rglob("*.py")):
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        text = path.read_text()
        if "re." in text and "migrations" not in name:
            yield name, ast.parse(text)


def _is_re(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "re"


def _uses() -> list[Use]:
    """Return every regular expression of the source with each function that the source calls on it."""
    uses: list[Use] = []
    modules = {name: list(ast.walk(tree)) for name, tree in _modules()}
    elsewhere: dict[str, set[str]] = defaultdict(set)
    for node in itertools.chain.from_iterable(modules.values()):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute):
            elsewhere[node.value.attr].add(node.attr)
    for name, nodes in modules.items():
        calls = [node for node in nodes if isinstance(node, ast.Call)]
        methods = [call.func for call in calls if isinstance(call.func, ast.Attribute)]
        compiled = [method for method in methods if _is_re(method) and method.attr == "compile"]
        module: Any = importlib.import_module(name) if compiled else None
        expressions = {key: value for key, value in vars(module or ast).items() if isinstance(value, re.Pattern)}
        expressions |= BUILT.get(name, {})
        assert len(expressions) >= len(compiled), f"{name}: an expression is not a variable of its module"
        for key, pattern in expressions.items():
            named = {m.attr for m in methods if isinstance(m.value, ast.Name) and m.value.id == key}
            named |= elsewhere[key]
            uses += [Use(name, pattern, function) for function in sorted(named & _FUNCTIONS or _FUNCTIONS)]
        for call in calls:
            if isinstance(call.func, ast.Attribute) and _is_re(call.func) and call.func.attr in _FUNCTIONS:
                text = ast.literal_eval(call.args[0]) if isinstance(call.args[0], ast.Constant) else None
                pattern = text if text is not None else vars(importlib.import_module(name))[ast.unparse(call.args[0])]
                uses.append(Use(name, re.compile(pattern), call.func.attr))
    return uses


def _samples(parsed: Any) -> Iterator[str]:
    """Return a short text for every part of a parsed expression, its repeated parts above all."""
    whole = ""
    for operation, argument in parsed:
        parts = list(_part_samples(operation, argument))
        yield from parts
        whole += parts[0] if parts else ""
    yield whole


def _part_samples(operation: Any, argument: Any) -> Iterator[str]:
    if operation in (_constants.LITERAL, _constants.NOT_LITERAL):
        yield chr(argument) if operation == _constants.LITERAL else chr(argument ^ 1)
    elif operation == _constants.IN:
        yield from _class_samples(argument)
    elif operation == _constants.ANY:
        yield "a"
    elif operation in (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT):
        inner = list(_samples(argument[2]))
        yield from (inner[-1] * max(1, argument[0]), *inner)
    elif operation == _constants.BRANCH:
        yield from itertools.chain.from_iterable(map(_samples, argument[1]))
    elif operation == _constants.SUBPATTERN:
        inner = list(_samples(argument[-1]))
        yield from (inner[-1], *inner)
    elif operation in (_constants.ASSERT, _constants.ASSERT_NOT):
        yield from ("", *_samples(argument[1]))


def _class_samples(members: Any) -> Iterator[str]:
    if members[0][0] == _constants.NEGATE:
        yield from "a ("
        return
    for operation, argument in members:
        if operation == _constants.LITERAL:
            yield chr(argument)
        elif operation == _constants.RANGE:
            yield chr(argument[0])
        elif operation == _constants.CATEGORY:
            yield {"CATEGORY_DIGIT": "1", "CATEGORY_SPACE": " "}.get(argument.name, "a")


def _hostile_inputs(pattern: re.Pattern[Any]) -> Iterator[tuple[str, str, str]]:
    """Return (start, repeated part, end): the end makes the match fail as late as possible."""
    flags = pattern.flags & ~re.UNICODE if isinstance(pattern.pattern, bytes) else pattern.flags
    samples = [sample for sample in dict.fromkeys(_samples(_parser.parse(pattern.pattern, flags))) if sample]
    letters = [sample for sample in samples if len(sample) == 1][:12]
    units = dict.fromkeys((*samples, *map("".join, itertools.product(letters, repeat=2)), "a", " "))
    for unit in units:
        yield "", unit, "\x00"
        yield "", unit, ""
    starts = [samples[-1], *samples[:8]] if samples else []
    for start, unit in itertools.product(starts, dict.fromkeys((*samples, "a"))):
        yield start, unit, "\x00"


def _slow_input(use: Use) -> str:
    """Return an input for which the time of an expression grows faster than its length; "" if there is none."""
    for start, unit, end in _hostile_inputs(use.pattern):

        def text(length: int, parts: tuple[str, str, str] = (start, unit, end)) -> Any:
            start, unit, end = parts
            text = start + unit * (length // len(unit)) + end
            return text.encode("latin-1", "replace") if isinstance(use.pattern.pattern, bytes) else text

        length = 16
        while length < LONGEST and any(use.seconds(text(length)) < _NOTICEABLE for _ in range(3)):  # a busy machine
            length = length * 3 // 2 if length < _SHORT else length * 4
        length = min(length, LONGEST)
        if use.seconds(text(length)) >= _NOTICEABLE:
            short, long = (min(use.seconds(text(size)) for _ in range(3)) for size in (length // 8, length))
            if long > _NOTICEABLE and long > _LINEAR * short:
                return f"{start!r} + {unit!r} * {length // len(unit)} + {end!r}: {long:.3f} s, {long / short:.0f} times"
    return ""


def _different_uses() -> list[Use]:
    """Return the uses without those that take the same time: of equal expressions, and all scans but one."""
    different: dict[tuple[re.Pattern[Any], str], Use] = {}
    for use in sorted(_uses(), key=lambda use: _SCANS.index(use.function) if use.function in _SCANS else 0):
        kind = "scan" if use.function in _SCANS else use.function
        different.setdefault((use.pattern, kind), use)
    return list(different.values())


@pytest.mark.parametrize("use", _different_uses(), ids=str)
def test_regular_expression_is_linear_for_hostile_input(use: Use) -> None:
    assert _slow_input(use) == ""


@pytest.mark.parametrize(
    ("pattern", "function"),
    [(r"([A-Z]):((?:[^\\;]|\\.)*);", "findall"), (r"\s+\Z", "search"), (r"(.*)x(.*)y", "match")],
)
def test_superlinear_expression_is_found(pattern: str, function: str) -> None:
    assert _slow_input(Use("test", re.compile(pattern), function))

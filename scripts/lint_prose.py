"""Check that prose and names are plain technical English.

usage: python scripts/lint_prose.py [--count] [PATH ...]

Reads Markdown, docstrings, comments, messages, templates, scripts, style sheets, message catalogs and test names.
Prints one line per finding and exits with 1 if there is any. `--count` prints findings per 10,000 words instead.
"""

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

WORDS = {
    r"\b(?:nobody|somebody|anybody|whoever|whatever)\b": "name the subject",
    r"\bwho\b(?!is\b)": "name the subject; 'that' also works for people in technical text",
    r"\bwhat (?:is|was|are|were)\b": "name the thing",
    r"\btold\b": "use 'reported', 'informed' or name the value",
    r"\banew\b": "use 'again'",
    r"\bmeanwhile\b": "use 'in the meantime' only where timing matters, else delete it",
    r"\bbeside\b": "use 'next to' or 'in addition to'",
    r"(?<!-)\bletters?\b(?! (?:or|and) (?:a )?(?:digit|number)|,? digits)": "use 'e-mail'; or 'letters and digits'",
    r"\blook(?:s|ed|ing)? at\b": "use 'check', 'read' or 'inspect'",
    r"\b(?:goes|go|went|going) on\b": "use 'continue' or 'resume'",
    r"\bbroken off\b": "use 'interrupted'",
    r"\bstands?\b(?! for| alone)": "use 'is', 'contains' or 'stores'",
    r"\brobots?\b(?!\.txt| meta)": "use 'bot'",
    r"\bswitched off\b": "use 'disabled'",
    r"\b(?:un)?tick(?:ed|s|ing)?\b": "use 'select'",
    r"\boperators?\b": "use 'administrator' or 'admin'",
    r"\bused up\b": "use 'limit reached'",
    r"\bat its end\b": "use 'expired'",
    r"\bleads? to\b": "use 'destination', 'redirects to' or 'points to'",
    r"\bshort names?\b": "use 'alias'",
    r"\bon the way\b": "use 'interstitial' or 'in transit'",
    r"\bkept out\b|\blet in\b": "use 'rejected', 'accepted' or 'authenticated'",
    r"\bhaste\b|\bquicker\b": "use 'speed' or 'faster'",
}
STARTS = re.compile(r"(?:^|(?<=[.!?:] ))(Who|What|Whether|Whoever|Nobody|Somebody)\b(?![^.!?]*\?)")
IDENTIFIERS = frozenset("told asked mine wanted chosen found those here".split())
TEST_WORDS = frozenset("who what whoever whatever nobody somebody anybody told anew meanwhile beside stands".split())
SKIP = ("docs/adr/template", "uv.lock", "web/package-lock.json", "LICENSE", "src/waypost/dashboard/static/")
_RULES = [(re.compile(pattern, re.IGNORECASE), hint) for pattern, hint in WORDS.items()]
_CODE = re.compile(r"```.*?```|`[^`]*`|\]\([^)]*\)|https?://\S+|<[^>]+>", re.DOTALL)


@dataclass(frozen=True)
class Text:
    """A piece of prose: where it starts, what kind of text it is, and its words."""

    path: Path
    line: int
    kind: str
    words: str


def main(arguments: list[str]) -> int:
    """Print the findings; 1 if there are any."""
    is_count = "--count" in arguments
    paths = [Path(name) for name in arguments if not name.startswith("--")] or tracked()
    texts = [text for path in paths for text in read(path)]
    findings = [finding for text in texts for finding in check(text)]
    names = [] if is_count else [finding for path in paths if path.suffix == ".py" for finding in check_names(path)]
    if is_count:
        print_counts(texts, findings)
        return 0
    for path, line, message in sorted({*findings, *names}):
        print(f"{path.resolve().relative_to(ROOT)}:{line}: {message}")
    return 1 if findings or names else 0


def tracked() -> list[Path]:
    """Every file that git tracks and that can contain prose."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()  # noqa: S603  # our own arguments
    return [ROOT / name for name in listed if not name.startswith(SKIP) and (ROOT / name).is_file()]


def read(path: Path) -> Iterator[Text]:
    """The prose in a file; nothing for file types without any."""
    if path.name == Path(__file__).name:
        return
    if path.suffix == ".py":
        yield from read_python(path)
    elif path.suffix == ".md":
        yield from read_markdown(path)
    elif path.suffix == ".html":
        yield from read_template(path)
    elif path.suffix == ".po" and "dashboard" not in path.parts:  # texts of the dashboard are checked in the sources
        yield from read_lines(path, "message", re.compile(r'^(?:msgid(?:_plural)? )?"(.*)"$'))
    elif path.suffix in {".js", ".mjs"}:
        yield from read_lines(path, "comment", re.compile(r"(?://|\*) (.*)$"))
        yield from read_lines(path, "message", re.compile(r'"([A-Z][^"]* [^"]*)"'))
    elif path.suffix == ".css":
        yield from read_lines(path, "comment", re.compile(r"/\* ?(.*?)(?:\*/|$)"))
    elif path.suffix in {".conf", ".cfg", ".ini", ".toml", ".yaml", ".yml", ".service", ".sh"} or path.name in {
        "Makefile",
        "Dockerfile",
        "Caddyfile",
        "run",
    }:
        yield from read_lines(path, "comment", re.compile(r"(?:^|\s)#+ (.*)$"))


def read_python(path: Path) -> Iterator[Text]:
    """Docstrings, comments, and string literals that read as sentences."""
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    docstrings = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for item in body if isinstance(body, list) else ():
            if (
                isinstance(item, ast.Expr)
                and isinstance(item.value, ast.Constant)
                and isinstance(item.value.value, str)
            ):
                docstrings.add(id(item.value))
                yield Text(path, item.lineno, "docstring", item.value.value)
    for node in ast.walk(tree):
        is_message = isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings
        if is_message and re.match(r"[A-Z][a-z]* .*[a-z]", node.value):
            yield Text(path, node.lineno, "message", node.value)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and not token.string.startswith("#!"):
            yield Text(
                path, token.start[0], "comment", re.sub(r"^# ?|noqa: \S+|type: ignore\[[^]]*\]", "", token.string)
            )


def read_markdown(path: Path) -> Iterator[Text]:
    """Every line outside of fenced code."""
    is_code = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("```"):
            is_code = not is_code
        elif not is_code:
            yield Text(path, number, "document", re.sub(r"^[#>*\-|\d. ]+", "", line))


def read_template(path: Path) -> Iterator[Text]:
    """Visible text and translated strings, line by line."""
    source = re.sub(
        r"<(script|style)\b.*?</\1>",
        lambda result: "\n" * result[0].count("\n"),
        path.read_text(encoding="utf-8"),
        flags=re.DOTALL,
    )
    for number, line in enumerate(source.splitlines(), 1):
        strings = re.findall(r'_\("([^"]*)"', line) + re.findall(r">([^<>{}]*[a-z][^<>{}]*)<", line)
        strings += re.findall(r"\{# ?(.*?) ?#\}", line)
        for words in strings:
            yield Text(path, number, "page", words)


def read_lines(path: Path, kind: str, pattern: re.Pattern[str]) -> Iterator[Text]:
    """Whatever `pattern` captures in each line."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        for words in pattern.findall(line):
            yield Text(path, number, kind, words)


def check(text: Text) -> Iterator[tuple[Path, int, str]]:
    """The findings in one piece of prose."""
    words = _CODE.sub(lambda code: "x" + "\n" * code[0].count("\n"), text.words)
    for pattern, hint in _RULES:
        for match in pattern.finditer(words):
            yield text.path, text.line + words.count("\n", 0, match.start()), f"'{match[0]}' ({text.kind}): {hint}"
    for match in STARTS.finditer(words):
        line = text.line + words.count("\n", 0, match.start())
        yield text.path, line, f"a sentence starts with '{match[1]}' ({text.kind}): start with the subject"


def check_names(path: Path) -> Iterator[tuple[Path, int, str]]:
    """Variables, parameters and test functions whose names carry no information."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        name = node.arg if isinstance(node, ast.arg) else node.id if _is_stored(node) else ""
        if name in IDENTIFIERS:
            yield path, node.lineno, f"'{name}' (name): say what the value holds"
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            for word in sorted(TEST_WORDS & set(node.name.split("_"))):
                yield path, node.lineno, f"'{node.name}' (test name) contains '{word}': subject, condition, result"


def _is_stored(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def print_counts(texts: list[Text], findings: list[tuple[Path, int, str]]) -> None:
    """Findings per 10,000 words, by kind of text."""
    words = Counter[str]()
    for text in texts:
        words[text.kind] += len(text.words.split())
    hits = Counter(re.search(r"\((\w+)\)", message)[1] for _, _, message in findings)
    for kind, count in sorted(words.items()):
        print(f"{kind}: {hits[kind]} findings in {count} words, {hits[kind] / max(count, 1) * 10_000:.0f} per 10,000")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

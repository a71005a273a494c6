"""The source code of this repository, parsed."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "waypost"


@cache
def modules() -> list[tuple[Path, ast.Module]]:
    """Return all modules of the service."""
    return [(path, ast.parse(path.read_text())) for path in sorted(SOURCE.rglob("*.py"))]

"""Parts of generated Markdown pages."""

from typing import Any


def table(head: tuple[str, ...], rows: Any) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join(f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def either(choices: Any) -> str:
    return " or ".join(f"`{choice}`" for choice in choices)


def whole(least: int | None, most: int | None) -> str:
    if least is None:
        return "whole number" if most is None else f"whole number up to {most}"
    return f"whole number from {least}" if most is None or most >= 2**53 - 1 else f"{least} to {most}"

"""How bio pages look: six themes, each light and dark. Every pair of colours that meets as text has AA contrast."""

from dataclasses import dataclass, fields
from functools import lru_cache

_SANS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif"
_SERIF = "'Iowan Old Style', 'Palatino Linotype', Palatino, Georgia, 'Noto Serif', serif"
_MONO = "ui-monospace, 'SF Mono', 'Cascadia Mono', Menlo, 'DejaVu Sans Mono', monospace"


@dataclass(frozen=True)
class Palette:
    """The colours of a page. `ink` and `soft` stand on `sky`, `ground` and `card`; `label` on `mark`."""

    sky: str
    ground: str
    card: str
    line: str
    ink: str
    soft: str
    mark: str
    label: str


@dataclass(frozen=True)
class Theme:
    """Colours by day and by night, letters, and how round corners are."""

    light: Palette
    dark: Palette
    font: str = _SANS
    round: str = "1rem"


THEMES = {
    "default": Theme(
        Palette("#f6f7f9", "#eceff3", "#ffffff", "#d8dee6", "#16202c", "#52606e", "#0b6e4f", "#ffffff"),
        Palette("#10161d", "#0c1116", "#18212b", "#2a3642", "#e9edf2", "#9aa7b5", "#4cc38a", "#0c1116"),
    ),
    "ocean": Theme(
        Palette("#e3f4fb", "#c6e3f5", "#ffffff", "#a9d2ea", "#0a2a43", "#2f5570", "#0b5c92", "#ffffff"),
        Palette("#06223a", "#031526", "#0b2f4d", "#1b4a70", "#e6f4fd", "#a3c6de", "#63c5f2", "#031526"),
        round="1.75rem",
    ),
    "forest": Theme(
        Palette("#eff4e6", "#dce7cc", "#fbfdf6", "#c3d3ab", "#1d2b17", "#4a5c3f", "#2f6b2c", "#ffffff"),
        Palette("#17241a", "#0e1810", "#1f3023", "#365040", "#eaf3e6", "#a9c0a6", "#9ad17f", "#0e1810"),
        round=".75rem",
    ),
    "sunset": Theme(
        Palette("#fff0e2", "#ffd9d2", "#fffaf6", "#f3bfae", "#3d1522", "#77414b", "#b02a4c", "#ffffff"),
        Palette("#3a1430", "#1f0b22", "#4a1c3a", "#6e3352", "#ffeee6", "#e3b5bb", "#ffa56b", "#2a0f26"),
        round="2rem",
    ),
    "paper": Theme(
        Palette("#faf6ec", "#f3ecdb", "#fffdf7", "#ddd0b3", "#2b2418", "#635640", "#8a3b12", "#ffffff"),
        Palette("#211d16", "#181510", "#2b261d", "#483f30", "#f2e9d8", "#bdb098", "#e6a66a", "#181510"),
        font=_SERIF,
        round=".25rem",
    ),
    "mono": Theme(
        Palette("#ffffff", "#ffffff", "#ffffff", "#111111", "#111111", "#4d4d4d", "#111111", "#ffffff"),
        Palette("#000000", "#000000", "#000000", "#f2f2f2", "#f2f2f2", "#b3b3b3", "#f2f2f2", "#000000"),
        font=_MONO,
        round="0",
    ),
}


@lru_cache(maxsize=64)
def style(theme: str) -> str:
    """The CSS variables of a theme: `ocean` is as the visitor's system is, `ocean-dark` always dark.

    `light` and `dark` are the default theme's. An unknown theme is the default.
    """
    name, dash, only = theme.rpartition("-")
    if not dash:
        name, only = (theme, "") if theme not in ("light", "dark") else ("default", theme)
    if name not in THEMES or only not in ("", "light", "dark"):
        name, only = "default", ""
    chosen = THEMES[name]
    shape = f"--font: {chosen.font}; --round: {chosen.round};"
    if only:
        return f":root {{ color-scheme: {only}; {shape} {_colours(getattr(chosen, only))} }}"
    return (
        f":root {{ color-scheme: light dark; {shape} {_colours(chosen.light)} }}\n"
        f"@media (prefers-color-scheme: dark) {{ :root {{ {_colours(chosen.dark)} }} }}"
    )


def _colours(palette: Palette) -> str:
    return " ".join(f"--{field.name}: {getattr(palette, field.name)};" for field in fields(palette))

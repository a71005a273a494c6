"""The six themes of bio pages, each light and dark. Text and background colors meet WCAG AA contrast."""

from dataclasses import dataclass, fields
from functools import lru_cache

_SANS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif"
_SERIF = "'Iowan Old Style', 'Palatino Linotype', Palatino, Georgia, 'Noto Serif', serif"
_MONO = "ui-monospace, 'SF Mono', 'Cascadia Mono', Menlo, 'DejaVu Sans Mono', monospace"


@dataclass(frozen=True)
class Palette:
    """The colors of a page; each field is a CSS variable. Text is on `sky`, `ground` and `card`, `label` on `mark`."""

    sky: str  # background, top
    ground: str  # background, bottom
    card: str  # background of blocks
    line: str  # borders
    ink: str  # text
    soft: str  # secondary text
    mark: str  # accent: buttons and links
    label: str  # text on the accent color


@dataclass(frozen=True)
class Theme:
    """Colors of the light and the dark variant, font, and radius of corners."""

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
def css_variables(theme: str) -> str:
    """Return the style sheet of a theme: `ocean` follows the visitor's system, `ocean-dark` is always dark.

    `light` and `dark` are variants of the default theme. An unknown name is the default theme.
    """
    name, variant = _parse(theme)
    colors = THEMES[name]
    if variant:
        return f":root {{ color-scheme: {variant}; {shape(theme)} {variables(getattr(colors, variant))} }}"
    return (
        f":root {{ color-scheme: light dark; {shape(theme)} {variables(colors.light)} }}\n"
        f"@media (prefers-color-scheme: dark) {{ :root {{ {variables(colors.dark)} }} }}"
    )


def light_palette(theme: str) -> Palette:
    """Return the light colors of a theme; the dark ones if it is always dark."""
    name, variant = _parse(theme)
    return THEMES[name].dark if variant == "dark" else THEMES[name].light


def shape(theme: str) -> str:
    """Return the CSS variables of a theme's font and corners."""
    colors = THEMES[_parse(theme)[0]]
    return f"--font: {colors.font}; --round: {colors.round};"


def _parse(theme: str) -> tuple[str, str]:
    """Return the name of the theme, and its variant."""
    name, dash, variant = theme.rpartition("-")
    if not dash:
        name, variant = (theme, "") if theme not in ("light", "dark") else ("default", theme)
    return (name, variant) if name in THEMES and variant in ("", "light", "dark") else ("default", "")


def variables(palette: Palette) -> str:
    """Return the CSS variables of a palette."""
    return " ".join(f"--{field.name}: {getattr(palette, field.name)};" for field in fields(palette))

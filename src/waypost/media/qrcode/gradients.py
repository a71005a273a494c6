"""Gradient geometry, shared by all formats. Pure."""

from math import cos, hypot, radians, sin, sqrt


def linear_ends(angle: int, side: float) -> tuple[float, float, float, float]:
    """Return (x1, y1, x2, y2) of a line through the center of a square, `angle` degrees clockwise from the x axis.

    The line is long enough that opposite corners of the square have the two colors.
    """
    across, down = cos(radians(angle)), sin(radians(angle))
    reach = (abs(across) + abs(down)) * side / 2
    middle = side / 2
    return middle - across * reach, middle - down * reach, middle + across * reach, middle + down * reach


def share(kind: str, angle: int, x: float, y: float) -> float:
    """Return the position of a point of the unit square along a gradient, 0 to 1."""
    if kind == "radial":
        return min(1.0, hypot(x - 0.5, y - 0.5) / sqrt(0.5))
    x1, y1, x2, y2 = linear_ends(angle, 1.0)
    along = ((x - x1) * (x2 - x1) + (y - y1) * (y2 - y1)) / ((x2 - x1) ** 2 + (y2 - y1) ** 2)
    return float(min(1.0, max(0.0, along)))

"""Where a gradient runs: pure geometry, the same for every format."""

from math import cos, hypot, radians, sin, sqrt


def linear_ends(angle: int, side: float) -> tuple[float, float, float, float]:
    """(x1, y1, x2, y2) of a line through the middle of a square at `angle` degrees clockwise from rightwards.

    Long enough that the square's corners have the pure colours.
    """
    across, down = cos(radians(angle)), sin(radians(angle))
    reach = (abs(across) + abs(down)) * side / 2
    middle = side / 2
    return middle - across * reach, middle - down * reach, middle + across * reach, middle + down * reach


def share(kind: str, angle: int, x: float, y: float) -> float:
    """How far along a gradient a point of the unit square is, 0 to 1."""
    if kind == "radial":
        return min(1.0, hypot(x - 0.5, y - 0.5) / sqrt(0.5))
    x1, y1, x2, y2 = linear_ends(angle, 1.0)
    along = ((x - x1) * (x2 - x1) + (y - y1) * (y2 - y1)) / ((x2 - x1) ** 2 + (y2 - y1) ** 2)
    return float(min(1.0, max(0.0, along)))

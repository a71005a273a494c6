"""The words of the dashboard, all of which go through here on their way to a page."""

from markupsafe import Markup, escape


def translated(message: str, **values: object) -> str:
    """The text in the viewer's language; values are escaped as everything else."""
    if not values:
        return message
    # The message is escaped too, so that the whole may count as such.
    return Markup(escape(message)) % {name: escape(value) for name, value in values.items()}  # noqa: S704


def plural(count: int, one: str, more: str) -> str:
    """What is said of one thing, or of several: `%(count)s` in it is their number. Not escaped yet."""
    return (one if count == 1 else more) % {"count": number(count)}


def number(value: int) -> str:
    """With thin gaps between thousands, which every language reads."""
    return f"{value:,}".replace(",", "\u202f")

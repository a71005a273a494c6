"""Tables from a name, as it appears in a header, to the label under which its visits are counted."""

from collections.abc import Mapping


def label_by_name(groups: Mapping[str, str], separator: str | None = None) -> dict[str, str]:
    """Return the label of each name, in order. `groups` has the names of each label, separated by white space."""
    return {name: label for label, names in groups.items() for name in names.split(separator)}

"""Control characters in text of strangers."""


def escape_control_characters(text: str, keep: str = "") -> str:
    """Return the text for a terminal: control and format characters as escapes such as `\\x1b`.

    They could move the cursor, hide text, forge lines or reverse the reading order.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in keep else ascii(char)[1:-1] for char in text)

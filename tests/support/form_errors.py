"""The faults that a page of the dashboard shows at the fields of a form."""

import html
import re


def only_error(page: str) -> tuple[str, str] | None:
    """Return (id of the field, message) of the only fault of a form; None if the form has a summary, or no fault.

    The field has the focus, also without scripts, and refers to its message.
    """
    if "data-summary" in page:
        return None
    field = re.search(r'<(?:input|select|textarea)\b[^>]*aria-invalid="true" autofocus[^>]*>', page)
    if field is None:
        return None
    assert len(re.findall(r"[\s\"]autofocus[\s>]", page)) == 1, "one element gets the focus"
    name = re.search(r'\bid="([^"]+)"', field[0])
    assert name is not None
    assert page.count(f' id="{name[1]}"') == 1
    assert f'aria-describedby="{name[1]}-error"' in field[0]
    message = re.search(rf' id="{re.escape(name[1])}-error">.*?<span>(.*?)</span>', page, re.DOTALL)
    assert message is not None
    return name[1], " ".join(html.unescape(re.sub("<[^>]+>", "", message[1])).split())

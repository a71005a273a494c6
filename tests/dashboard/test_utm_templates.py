"""UTM templates in the link editor and in quick create, without scripts."""

import re
from typing import Any

from tests.conftest import Person
from tests.support.dashboard_client import Browser, form_version, hidden_field
from tests.support.visits import new_link

_URL = "https://shop.example/boots?size=9"
_TAGGED = f"{_URL}&utm_source=newsletter&utm_medium=e-mail"


def _template(person: Person, **fields: Any) -> int:
    return person.add("utm", **{"name": "Newsletter", "utm_source": "newsletter", "utm_medium": "e-mail", **fields})


def test_template_is_written_into_destination_of_new_link(ana: Person, dashboard: Browser) -> None:
    template = _template(ana)
    for fields in ({}, {"quick": "create"}, {"quick": "quick"}):
        form = {"url": _URL, "custom": f"link-{len(fields)}{fields.get('quick', '')}", "utm_template": str(template)}
        assert dashboard.submit("/links/new", **form, **fields).status_code in (200, 303)
    assert [link["longurl"] for link in ana.get("/urls")["data"]["urls"]] == [_TAGGED] * 3


def test_template_is_written_into_destination_of_stored_link(ana: Person, dashboard: Browser) -> None:
    template, link = _template(ana), new_link(ana, "boots", url=f"{_URL}&utm_source=old")
    version = form_version(dashboard.get(f"/links/{link}"), f"/links/{link}")
    form = {"url": f"{_URL}&utm_source=old", "title": "Boots", "version": version, "utm_template": str(template)}
    assert dashboard.submit(f"/links/{link}", **form).status_code == 303
    details = ana.details("url", link)
    assert (details["longurl"], details["title"]) == (_TAGGED, "Boots")


def test_template_of_another_account_is_refused_at_its_field(ana: Person, ben: Person, dashboard: Browser) -> None:
    _template(ana)
    foreign = _template(ben, name="Theirs")
    for place, named in (({}, "the options"), ({"quick": "create"}, "your UTM templates")):
        page = dashboard.submit("/links/new", url=_URL, custom="mine", utm_template=str(foreign), **place)
        assert page.status_code == 400
        assert f"UTM template must be one of {named}. Select another one." in page.text
        assert 'aria-describedby="' in page.text
        assert f'value="{_URL}"' in page.text
        assert "Theirs" not in page.text
    assert ana.get("/urls")["data"]["result"] == 0


def test_invalid_destination_and_template_are_reported_together(ana: Person, dashboard: Browser) -> None:
    _template(ana)
    page = dashboard.submit("/links/new", url="nonsense", custom="m", utm_template="999")
    assert page.status_code == 400
    assert "UTM template must be one of" in page.text
    assert "This is not an address." in page.text


def test_editor_and_dialog_offer_escaped_templates(ana: Person, ben: Person, dashboard: Browser) -> None:
    _template(ben, name="Theirs")
    _template(ana, name='"><script>alert(1)</script>', utm_source='"><b>', utm_term="a b&c")
    page = dashboard.get("/links/new").text
    assert "<script>alert" not in page
    assert "Theirs" not in page
    assert 'value="utm_source=%22%3E%3Cb%3E&amp;utm_medium=e-mail&amp;utm_term=a%20b%26c"' in page.replace("+", "%20")
    assert dashboard.get("/channels").text.count("&lt;script&gt;alert") == 1, "in the dialog of every page"


def test_new_template_takes_values_of_query_and_name_is_unique(ana: Person, dashboard: Browser) -> None:
    page = dashboard.get("/utm/new?utm_source=a%26b&utm_medium=post&name=Print")
    values = re.findall(r'name="(\w+)"[^>]*value="([^"]*)"', page.text.replace("\n", " "))
    assert {"utm_source": "a&amp;b", "utm_medium": "post", "name": "Print"}.items() <= dict(values).items()
    form = {"token": hidden_field(page, "token"), "name": "Print", "utm_source": "a&b"}
    assert dashboard.client.post("/dashboard/utm/new", data=form).status_code == 303
    again = dashboard.client.post("/dashboard/utm/new", data=form)
    assert again.status_code == 400
    assert "You already have a UTM template with this name." in again.text


def test_deleted_template_is_restored_and_links_keep_their_parameters(ana: Person, dashboard: Browser) -> None:
    template = _template(ana)
    dashboard.submit("/links/new", url=_URL, custom="boots", utm_template=str(template))
    listed = dashboard.submit(f"/utm/{template}/delete")
    page = dashboard.client.get(listed.headers["location"])
    assert "Links keep their parameters." in page.text
    assert ana.get("/urls")["data"]["urls"][0]["longurl"] == _TAGGED
    dashboard.submit("/trash/undo", at="/trash", batch=hidden_undo(page))
    assert ana.get(f"/utm/{template}")["details"]["name"] == "Newsletter"


def hidden_undo(page: Any) -> str:
    """Return the batch of the Undo button."""
    match = re.search(r'name="batch"\s+value="(\w+)"', page.text)
    assert match is not None
    return match[1]


def test_fields_are_written_into_destination_of_new_link(ana: Person, dashboard: Browser) -> None:
    template = _template(ana)
    fields = {"utm_source": "my blog", "utm_medium": "", "utm_content": "ä&b"}
    url = f"{_URL}&utm_medium=kept&utm_source=old#top"
    assert dashboard.submit("/links/new", url=url, custom="a", **fields).status_code == 303
    written = f"{_URL}&utm_medium=kept&utm_source=my%20blog&utm_content=%C3%A4%26b#top"
    assert ana.get("/urls")["data"]["urls"][0]["longurl"] == written
    both = {"utm_source": "my blog", "utm_template": str(template)}
    assert dashboard.submit("/links/new", url=_URL, custom="b", **both).status_code == 303
    assert ana.get("/urls")["data"]["urls"][0]["longurl"] == f"{_URL}&utm_source=my%20blog&utm_medium=e-mail"


def test_edited_fields_are_written_and_emptied_ones_removed(ana: Person, dashboard: Browser) -> None:
    url = f"{_URL}&utm_source=old&utm_medium=mail&utm_term=a%20b"
    link = new_link(ana, "boots", url=url)
    page = dashboard.get(f"/links/{link}")
    shown = {name: _value(page, name) for name in ("utm_source", "utm_medium", "utm_term", "utm_content")}
    assert shown == {"utm_source": "old", "utm_medium": "mail", "utm_term": "a b", "utm_content": ""}

    def save(**fields: str) -> str:
        version = form_version(dashboard.get(f"/links/{link}"), f"/links/{link}")
        assert dashboard.submit(f"/links/{link}", version=version, **fields).status_code == 303
        return str(ana.details("url", link)["longurl"])

    assert save(url=url, **{**shown, "utm_source": "new", "utm_medium": ""}) == f"{_URL}&utm_source=new&utm_term=a%20b"
    shown = {"utm_source": "new", "utm_medium": "", "utm_term": "a b", "utm_content": ""}
    pasted = "https://shop.example/shoes?utm_source=pasted"
    assert save(url=pasted, **shown) == pasted, "unchanged fields leave a new destination as it is"


def test_too_long_field_is_refused_with_its_label(ana: Person, dashboard: Browser) -> None:
    page = dashboard.submit("/links/new", url=_URL, custom="a", utm_source="x" * 256, utm_term="kept")
    assert page.status_code == 400
    assert "Source must be at most 255 characters." in page.text
    assert _value(page, "utm_term") == "kept"
    assert f'value="{_URL}"' in page.text
    too_long = dashboard.submit("/links/new", url=f"{_URL}&x={'y' * 8100}", custom="a", utm_source="x" * 200)
    assert "Destination URL must have at most 8192 bytes when it is percent-encoded" in too_long.text
    assert ana.get("/urls")["data"]["result"] == 0


def _value(page: Any, name: str) -> str:
    """Return the value of a text field."""
    match = re.search(rf'name="{name}"[^>]*\svalue="([^"]*)"', page.text)
    assert match is not None, name
    return match[1]

"""The name of an account on the pages of its files: only after the account has entered one."""

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.dashboard_client import Browser
from tests.support.files import new_file, open_page


def _name(dashboard: Browser, name: str) -> str:
    return dashboard.submit_for_message("/account/sender", at="/account", sender=name)


def test_page_of_a_file_names_its_sender_only_on_request(
    ana: Person, ben: Person, dashboard: Browser, service: AsgiClient
) -> None:
    new_file(ana, "report.pdf", custom="mine", password="open sesame")
    new_file(ana, "menu.pdf", custom="menu")
    new_file(ben, "other.pdf", custom="bens")
    pages = {path: open_page(service, path).text for path in ("mine", "menu", "bens")}
    assert not any("Shared by" in page or "ana@" in page or ">ana<" in page for page in pages.values())
    assert _name(dashboard, "  Ana <Costa> & Co ") == "Saved."
    assert "Ana &lt;Costa&gt; &amp; Co" in dashboard.get("/account").text
    sentence = "Shared by <bdi>Ana &lt;Costa&gt; &amp; Co</bdi>"
    assert {path: sentence in open_page(service, path).text for path in pages} == {
        "menu": True,
        "bens": False,
        "mine": False,  # before the password
    }
    assert sentence in open_page(service, "menu+").text
    assert _name(dashboard, "") == "Saved."
    assert "Shared by" not in open_page(service, "menu").text


def test_name_of_a_sender_is_one_short_line(dashboard: Browser) -> None:
    for name in ("x" * 65, "a\nb"):
        refused = dashboard.submit("/account/sender", at="/account", sender=name)
        assert refused.status_code == 400, name
        assert 'id="sender-error"' in refused.text

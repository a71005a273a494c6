"""Every operation of both clients against a running service."""

import io
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
from waypost_client.errors import ImportStateError, InvalidError, KeyRequiredError, NotFoundError, TakenError

from tests.client.conftest import Caller, Service, opened
from waypost.core.settings import Settings
from waypost.server.routers import api_document

_URL = "https://example.com/page"
_IMAGE = "data:image/png;base64,"


def _files(wp: Caller, name: str) -> None:
    ids = [
        wp.upload_file(f"{name}.txt", b"first", password="open").id,
        wp.put_file(f"{name}.txt", io.BytesIO(b"second")).id,
        wp.upload_form_file(f"{name} & co.txt", b"third", maxdownloads=5).id,
    ]
    listed = wp.list_files(name=name, limit=2)
    assert (listed.result, len(listed), listed.nextpage) == (3, 2, 2)
    assert [file.id for file in wp.files(name=name, page_size=2)] == ids[::-1]
    wp.update_file(ids[0], name="Renamed")
    details = wp.read_file(ids[0])
    assert (details.name, details.size) == ("Renamed", 5)
    assert wp.read_file_statistics(ids[0], interval="day").total.clicks == 0
    for file in ids:
        wp.delete_file(file)
    with pytest.raises(NotFoundError):
        wp.read_file(ids[0])


def _links(wp: Caller, name: str) -> None:
    campaign = wp.create_campaign(name=name, rotation="weighted").id
    channel = wp.create_channel(name=name, color="#112233").id
    link = wp.create_link(
        url=_URL, custom=f"{name}-link", channel=[channel], geotarget=[{"location": "FR", "link": _URL}]
    )
    assert link.shorturl.endswith(f"/{name}-link")
    assert wp.assign_link(campaign, link.id, weight=3).message
    wp.update_link(link.id, title="Spring", password="open")
    details = wp.read_link(link.id).details
    assert (details.title, details.password, details.campaign, details.channel) == (
        "Spring",
        True,
        campaign,
        (channel,),
    )
    assert details.raw["geotarget"][0]["link"] == _URL
    listed = wp.list_links(q=name)
    assert ([each.id for each in listed], listed.items[0].longurl) == ([link.id], _URL)
    assert [each.id for each in wp.links(q=name)] == [link.id]
    assert wp.read_link_statistics(link.id, from_="2026-01-01", timezone="Europe/Berlin").total.clicks == 0
    assert wp.read_campaign(campaign).name == name
    assert wp.read_campaign_statistics(campaign).data.total.clicks == 0
    assert wp.update_campaign(campaign, name=f"{name} 2").id == campaign
    assert f"{name} 2" in [each.name for each in wp.list_campaigns()]
    assert wp.campaigns()
    code = wp.create_qr_code(type="link", data=_URL, name=name, custom=f"{name}-code").id
    wp.assign_to_channel(channel, "qr", code)
    assert {item.type for item in wp.list_channel_items(channel)} == {"links", "qr"}
    assert {item.id for item in wp.channel_items(channel)} == {link.id, code}
    target = io.BytesIO()
    assert wp.download_qr_codes(target, channel=channel, format="svg").size == len(target.getvalue())
    assert len(zipfile.ZipFile(target).namelist()) == 2
    assert wp.update_channel(channel, starred=True).id == channel
    assert wp.list_channels().result == 1
    assert [each.id for each in wp.channels()] == [channel]
    for delete, item in ((wp.delete_link, link.id), (wp.delete_campaign, campaign), (wp.delete_channel, channel)):
        assert delete(item).message
    wp.delete_qr_code(code)
    _templates(wp, name)


def _templates(wp: Caller, name: str) -> None:
    template = wp.create_utm_template(name=name, utm_source="newsletter").id
    assert wp.update_utm_template(template, utm_medium="email").message
    assert wp.read_utm_template(template).utm_medium == "email"
    assert [each.id for each in wp.utm_templates()] == [each.id for each in wp.list_utm_templates()] == [template]
    wp.delete_utm_template(template)


def _codes(wp: Caller, name: str) -> None:
    fields = {"type": "wifi", "data": {"ssid": name, "encryption": "nopass"}}
    assert wp.preview_qr_code(**fields).raw["image"].startswith(_IMAGE)
    code = wp.create_qr_code(**fields, name=name).id
    done = wp.create_qr_codes(codes=[{"type": "text", "data": "hello", "name": f"{name} {n}"} for n in range(3)])
    assert len(done.results) == 3
    assert wp.list_qr_codes().result == len(wp.qr_codes(page_size=2)) == 4
    assert wp.update_qr_code(code, name="Guests", data={"ssid": "guests", "encryption": "nopass"}).message
    assert wp.read_qr_code(code).details.name == "Guests"
    with pytest.raises(InvalidError):
        wp.read_qr_code_statistics(code, interval="century")
    assert wp.read_qr_code_statistics(code).total.clicks == 0
    share = wp.create_share(type="qr", itemid=code).id
    assert wp.update_share(share, title="Scans").message
    assert wp.read_share(share).title == "Scans"
    assert [each.id for each in wp.shares()] == [each.id for each in wp.list_shares(type="qr")] == [share]
    wp.delete_share(share)
    for each in (code, *(each.id for each in done.results)):
        wp.delete_qr_code(each)


def _pages(wp: Caller, name: str) -> None:
    page = wp.create_bio_page(name=name, blocks=[{"type": "link", "title": "Shop", "url": _URL}]).id
    wp.update_bio_page(page, title="Hello")
    assert wp.read_bio_page(page).details.title == "Hello"
    assert wp.read_bio_page_statistics(page).total.clicks == 0
    assert [each.id for each in wp.bio_pages()] == [each.id for each in wp.list_bio_pages()] == [page]
    wp.delete_bio_page(page)
    splash = wp.create_splash_page(name=name).id
    wp.update_splash_page(splash, counter=7)
    assert wp.read_splash_page(splash).counter == 7
    assert [each.id for each in wp.splash_pages()] == [each.id for each in wp.list_splash_pages()] == [splash]
    wp.delete_splash_page(splash)
    overlay = wp.create_overlay(name=name, type="poll", options=["Red", "Blue"]).id
    wp.update_overlay(overlay, message="Which one?")
    assert wp.read_overlay(overlay).message == "Which one?"
    assert [each.id for each in wp.overlays()] == [each.id for each in wp.list_overlays()] == [overlay]
    assert (wp.list_submissions(overlay).result, wp.submissions(overlay)) == (0, [])
    target = io.BytesIO()
    assert wp.export_submissions(overlay, target).size == len(target.getvalue()) > 0
    wp.delete_overlay(overlay)


def _settings(wp: Caller, name: str, folder: Path) -> None:
    pixel = wp.create_pixel(type="tiktok", name=name, tag="C123").id
    wp.update_pixel(pixel, tag="C456")
    assert wp.read_pixel(pixel).tag == "C456"
    assert [each.id for each in wp.pixels()] == [each.id for each in wp.list_pixels()] == [pixel]
    wp.delete_pixel(pixel)
    domain = wp.create_domain(domain=f"https://{name}.example").id
    wp.update_domain(domain, redirectroot=_URL)
    assert wp.read_domain(domain).redirectroot == _URL
    assert wp.read_domain_statistics(domain).raw
    assert [each.id for each in wp.domains()] == [each.id for each in wp.list_domains()] == [domain]
    wp.delete_domain(domain)
    account = wp.read_account()
    assert wp.update_account(email=account.email).message
    assert wp.delete_account(2).deletion
    assert wp.cancel_account_deletion(2).message
    assert wp.delete_two_factor(2).message
    assert wp.read_account_statistics().total.clicks == 0
    assert wp.export_visits(folder / "visits.csv").size == (folder / "visits.csv").stat().st_size > 0
    _webhooks(wp)
    assert wp.read_audit_log(kind="domain", limit=1).events[0].event == "domain.deleted"
    assert wp.export_audit_log(folder / "audit.jsonl", format="jsonl").size > 0
    done = wp.change_in_bulk(items=[{"noun": "url", "action": "create", "fields": {"url": _URL}}], atomic=True)
    wp.delete_link(done.raw["results"][0]["id"])


def _webhooks(wp: Caller) -> None:
    made = wp.create_webhook(url="https://hooks.example.com/", events=["link.*"])
    assert made.secret.startswith("whsec_")
    assert wp.update_webhook(made.id, title="Shop").title == "Shop"
    assert wp.read_webhook(made.id).title == "Shop"
    assert [each.id for each in wp.webhooks()] == [each.id for each in wp.list_webhooks()] == [made.id]
    assert wp.rotate_webhook_secret(made.id).secret != made.secret
    assert (made.signature, made.publickey) == ("hmac", "")
    test = wp.test_webhook(made.id).delivery
    assert [each.id for each in wp.list_webhook_deliveries(made.id)] == [test]
    assert [each.event for each in wp.webhook_deliveries(made.id)] == ["webhook.test"]
    assert wp.replay_webhook(made.id, delivery=test).result == 1
    wp.delete_webhook(made.id)


def _imports(wp: Caller, name: str) -> None:
    file = wp.upload_file("links.csv", f"alias,url\n{name}-old,{_URL}".encode()).id
    assert wp.create_import(file=file).state in ("reading", "planned")
    assert _await_import(wp).fates["create"] == 1
    assert [row.alias for row in wp.list_import_rows(fate="create")] == [f"{name}-old"]
    assert len(wp.import_rows()) == 1
    target = io.BytesIO()
    assert wp.export_import_rows(target).size == len(target.getvalue())
    wp.apply_import()
    assert _await_import(wp).state == "applied"
    assert wp.preview_import_undo().deleted == 1
    wp.undo_import()
    assert _await_import(wp).state == "undone"
    with pytest.raises(ImportStateError):
        wp.apply_import()
    assert wp.delete_import().message
    wp.delete_file(file)


def _await_import(wp: Caller) -> Any:
    deadline = time.monotonic() + 60
    while (details := wp.read_import()).running:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return details


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_every_operation_works(service: Service, kind: str, tmp_path: Path) -> None:
    with opened(kind, service.url, service.ana) as wp:
        _files(wp, kind)
        _links(wp, kind)
        _codes(wp, kind)
        _pages(wp, kind)
        _settings(wp, kind, tmp_path)
        _imports(wp, kind)
        methods = api_document(Settings())["paths"].values()
        operations = {operation["operationId"] for operation in methods for operation in operation.values()}
        assert operations - wp.called == set()


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_other_account_sees_nothing(service: Service, kind: str) -> None:
    with opened(kind, service.url, service.ana) as ana, opened(kind, service.url, service.ben) as ben:
        link = ana.create_link(url=_URL).id
        with pytest.raises(NotFoundError) as raised:
            ben.read_link(link)
        assert (raised.value.status, raised.value.code, bool(raised.value.request_id)) == (404, "not_found", True)
        assert [each.id for each in ben.links()] == []
        ana.delete_link(link)


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_errors_name_code_and_field(service: Service, kind: str) -> None:
    with opened(kind, service.url, service.ana) as wp:
        wp.create_link(url=_URL, custom=f"{kind}-taken")
        with pytest.raises(TakenError) as taken:
            wp.create_link(url=_URL, custom=f"{kind}-taken")
        with pytest.raises(InvalidError) as invalid:
            wp.create_link(url=_URL, clicklimit=-1)
        with pytest.raises(NotFoundError):
            wp.list_links(short="https://go.example.com/unknown")
        with pytest.raises(TypeError, match="unexpected field 'clicklimits'"):
            wp.create_link(url=_URL, clicklimits=1)
        assert [error.value.field for error in (taken, invalid)] == ["custom", "clicklimit"]
    with opened(kind, service.url, "wp_unknown") as wp, pytest.raises(KeyRequiredError):
        wp.read_account()


def test_request_reaches_endpoints_without_method(service: Service) -> None:
    with opened("sync", service.url, service.ana) as wp:
        body: dict[str, Any] = {"url": _URL, "a_future_field": 1}
        created = wp.request("POST", "/url/add", body=body)
        assert wp.request("GET", f"/url/{created['id']}")["details"]["longurl"] == _URL

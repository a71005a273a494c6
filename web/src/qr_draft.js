// The short URL and the QR code of a new link, while its domain and its alias are typed.
import { $ } from "./dom.js";
import { TIMEOUT } from "./toast.js";

const card = $("form.editor [data-qr-draft]");
let timer;
let request = new AbortController();

async function load(form) {
  request.abort();
  request = new AbortController();
  const names = ["token", "domain", "custom"];
  const body = new URLSearchParams(names.map((name) => [name, form.elements[name]?.value ?? ""]));
  const signal = AbortSignal.any([request.signal, AbortSignal.timeout(TIMEOUT)]);
  try {
    const response = await fetch("/dashboard/links/qr", { method: "POST", body, signal });
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const fresh = $("[data-qr-draft]", page);
    if (fresh) $("[data-qr-draft]").replaceChildren(...fresh.childNodes);
  } catch {
    // The card stays as it is: it is no part of the form.
  }
}

if (card) {
  const form = card.closest("form");
  form.addEventListener("input", ({ target }) => {
    if (!["domain", "custom"].includes(target.name)) return;
    clearTimeout(timer);
    timer = setTimeout(() => load(form), 400);
  });
  if (form.elements.custom.value) load(form);
}

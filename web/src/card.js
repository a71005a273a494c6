// The link editor's preview: follows the destination, and the texts and the image of the link's own card.
import { $ } from "./dom.js";
import { TIMEOUT } from "./toast.js";

const FETCHED = ["url", "metaimage"];
let timer;
let request = new AbortController();

/** Shows the texts as they are typed; the destination's own ones where there are none. */
function showTexts(form) {
  for (const text of document.querySelectorAll("[data-text]")) {
    text.textContent = form.elements[text.dataset.text].value.trim() || text.dataset.own;
  }
}

async function load(form) {
  request.abort();
  request = new AbortController();
  const names = ["token", "url", "metatitle", "metadescription", "metaimage", "link"];
  const body = new URLSearchParams(names.map((name) => [name, form.elements[name]?.value ?? ""]));
  const signal = AbortSignal.any([request.signal, AbortSignal.timeout(TIMEOUT)]);
  try {
    const response = await fetch("/dashboard/links/preview", { method: "POST", body, signal });
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const card = $("[data-card]", page);
    if (card) $("[data-card]").replaceWith(card);
    showTexts(form);
  } catch {
    // The card stays as it is: the preview is no part of the form.
  }
}

const form = document.querySelector("form[data-card-form]");
if (form) {
  form.addEventListener("input", ({ target }) => {
    showTexts(form);
    if (!FETCHED.includes(target.name)) return;
    clearTimeout(timer);
    timer = setTimeout(() => load(form), 700);
  });
  if (form.elements.url.value) load(form);
}

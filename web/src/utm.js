// The fields of UTM parameters: they show those of the destination URL and write them there. All other parts of the URL
// stay as they were typed. The fields are not sent: the server would write them once more.
import { $ } from "./dom.js";

const fields = [...document.querySelectorAll("[data-utm] input")];
const url = $("form.editor #url");
const template = $("[data-utm-template]");
const saveLink = $("[data-utm-save]");

/** Returns the URL in parts: before the query, the query's pairs, and the fragment with its "#". */
function split() {
  const [, before, query, fragment] = /^([^?#]*)(?:\?([^#]*))?(#.*)?$/s.exec(url.value.trim());
  return { before, pairs: (query ?? "").split("&").filter(Boolean), fragment: fragment ?? "" };
}

function decode(text) {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return text; // not encoded properly: shown as it is
  }
}

const nameOf = (pair) => decode(pair.split("=", 1)[0]);
const valueOf = (pair) => decode(pair.slice(pair.indexOf("=") + 1 || pair.length));

function read() {
  const { pairs } = split();
  for (const field of fields) {
    const pair = pairs.find((each) => nameOf(each) === field.id);
    field.value = pair === undefined ? "" : valueOf(pair);
  }
  showSaveLink();
}

/** Lets the link to a new template take the values along. */
function showSaveLink() {
  const filled = fields.filter((field) => field.value.trim()).map((field) => [field.id, field.value.trim()]);
  saveLink.search = new URLSearchParams(filled);
}

/** Writes one field: in place of the parameter that is there, else as the last one. An empty field removes it. */
function write(field) {
  const { before, pairs, fragment } = split();
  const value = field.value.trim();
  const added = value ? [`${field.id}=${encodeURIComponent(value)}`] : [];
  const position = pairs.findIndex((pair) => nameOf(pair) === field.id);
  if (position >= 0) pairs.splice(position, 1, ...added);
  else pairs.push(...added);
  const kept = pairs.filter((pair) => nameOf(pair) !== field.id || pair === added[0]);
  url.value = before + (kept.length ? `?${kept.join("&")}` : "") + fragment;
}

if (fields.length && url) {
  for (const field of fields) field.removeAttribute("name");
  // A template sets its own parameters and keeps the others.
  template?.addEventListener("change", () => {
    for (const [name, value] of new URLSearchParams(template.value)) {
      const field = fields.find((each) => each.id === name);
      field.value = value;
      field.dispatchEvent(new Event("input", { bubbles: true }));
    }
    url.dispatchEvent(new Event("input", { bubbles: true }));
  });
  // Fields that were filled in first are applied to the destination once it was typed.
  let areWaiting = false;
  const apply = () => {
    if (!areWaiting || !url.value.trim()) return;
    areWaiting = false;
    fields.filter((field) => field.value.trim()).forEach(write);
    read();
  };
  url.addEventListener("input", () => areWaiting || read());
  url.addEventListener("change", apply);
  url.form.addEventListener("submit", apply);
  for (const field of fields) {
    field.addEventListener("input", () => {
      if (url.value.trim()) write(field);
      else areWaiting = true;
      showSaveLink();
    });
    field.addEventListener("change", () => url.dispatchEvent(new Event("input", { bubbles: true })));
  }
  read();
}

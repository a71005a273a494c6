// What pages do on top of plain links and forms: parts of pages, keys, copying, dialogs. All of it works without.
import "./parts.js";
import "./preview.js";
import "./sending.js";
import { busy, PATIENCE, tell } from "./telling.js";

const $ = (selector, within = document) => within.querySelector(selector);
const isTyping = (element) => element?.closest("input, textarea, select, [contenteditable]");
const WEB = /^https?:\/\/[^\s]+$/i;

/** Opens the dialog for a new link, perhaps with an address in it. */
function create(address = "") {
  const dialog = $("#create");
  if (!dialog) return;
  const field = $("#create-url");
  if (address) field.value = address;
  dialog.showModal();
  (address ? $("#create-custom") : field).focus();
}

function search() {
  const field = $("[data-search]");
  if (field) field.focus();
  else location.assign("/dashboard/links#q");
}

const KEYS = { c: () => create(), "/": search, "?": () => $("#keys")?.showModal() };

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") forget();
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || $("dialog[open]")) return;
  const act = KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

document.addEventListener("paste", (event) => {
  const text = event.clipboardData?.getData("text").trim() ?? "";
  if (isTyping(event.target) || $("dialog[open]") || !WEB.test(text)) return;
  event.preventDefault();
  create(text);
});

async function copy(button) {
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
  } catch {
    // not on HTTPS: the old way
    const area = document.createElement("textarea");
    area.value = button.dataset.copy;
    (button.closest("dialog") ?? document.body).append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    button.focus();
  }
  button.classList.add("done");
  setTimeout(() => button.classList.remove("done"), 2000);
  tell(button.dataset.done);
}

let asked = null; // the question that is on its way

function forget() {
  asked?.abort();
  asked = null;
}

/** What the page at an address asks; null if it does not, or does not come. */
async function question(address, signal) {
  try {
    const answer = await fetch(address, { signal });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    return answer.ok ? $(".question", page) : null;
  } catch {
    return null;
  }
}

/** Shows the page that a link leads to as a question over this one; else the link is followed. Who does something else
 * meanwhile is not asked any more. */
async function ask(link) {
  const mine = (asked = new AbortController());
  const late = setTimeout(() => mine.abort(), PATIENCE);
  busy(link);
  const found = await question(link.href, mine.signal);
  busy(link, false);
  clearTimeout(late);
  if (asked !== mine || $("dialog[open]")) return;
  if (!found) return location.assign(link.href);
  const dialog = $("#question");
  $("article", dialog).replaceChildren(found);
  dialog.setAttribute("aria-label", $("h1", found)?.textContent ?? "");
  dialog.showModal();
  $("[data-close]", found)?.focus(); // so that Enter pressed twice deletes nothing
}

/** Another empty row behind the last one. */
function addRow(fieldset) {
  const rows = fieldset.querySelectorAll("[data-row]");
  const last = rows[rows.length - 1];
  const row = last.cloneNode(true);
  for (const field of row.querySelectorAll("input")) field.value = "";
  last.after(row);
  $("input", row).focus();
}

// The second press of a double click is not for a dialog that the first one opened, nor is a press that began elsewhere.
let began = null;
addEventListener(
  "pointerdown",
  (event) => {
    began = event.target;
  },
  true,
);
let first = null;
addEventListener(
  "click",
  (event) => {
    if (event.detail < 2) first = event.target;
    const dialog = event.target.closest?.("dialog");
    if (!dialog || dialog.contains(first)) return;
    event.preventDefault();
    event.stopPropagation();
  },
  true,
);

for (const kind of ["input", "submit", "pagehide"]) addEventListener(kind, forget);
document.addEventListener("click", (event) => {
  forget();
  const at = (selector) => event.target.closest?.(selector);
  const plain = !(event.ctrlKey || event.metaKey || event.shiftKey || event.button);
  let found;
  if ((found = at("[data-copy]"))) copy(found);
  else if ((found = at("[data-add]"))) addRow(found.closest("[data-rows]"));
  else if (plain && (found = at("[data-create]"))) {
    event.preventDefault();
    create();
  } else if (plain && (found = at("a[data-dialog]"))) {
    event.preventDefault();
    ask(found);
  } else if ((found = at("dialog [data-close]"))) {
    event.preventDefault();
    found.closest("dialog").close();
  } else if (event.target.matches?.("dialog") && began === event.target) event.target.close(); // beside what is in it
  for (const open of document.querySelectorAll(".drop[open], .bar details[open]")) {
    if (!open.contains(event.target)) open.open = false;
  }
});

document.addEventListener("change", (event) => {
  if (!event.target.matches?.("[data-all]")) return;
  for (const box of event.target.form.querySelectorAll('tbody [type="checkbox"]')) box.checked = event.target.checked;
});

// The viewer's zone, for the pages to come; and the moments of this one, if it did not know.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone ?? "UTC";
const known = document.cookie.split("; ").includes(`waypost_zone=${encodeURIComponent(zone)}`);
if (!known) {
  const secure = location.protocol === "https:" ? "; secure" : "";
  document.cookie = `waypost_zone=${encodeURIComponent(zone)}; path=/dashboard; max-age=31536000; samesite=lax${secure}`;
  const two = (n) => String(n).padStart(2, "0");
  for (const time of document.querySelectorAll("time[data-local]")) {
    const at = new Date(time.dateTime);
    time.textContent = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}`;
  }
}

// What was typed or chosen before the scripts were there, or put back by the browser, is told to them.
addEventListener("pageshow", () =>
  setTimeout(() => {
    // after htmx, which begins in a task of its own
    for (const field of document.querySelectorAll("main :is(input, textarea)")) {
      if (field.value === field.defaultValue && field.checked === field.defaultChecked) continue;
      for (const kind of ["input", "change"]) field.dispatchEvent(new Event(kind, { bubbles: true }));
    }
  }),
);

if (location.hash === "#q") search();
const wrong = $("[aria-invalid='true']");
if (wrong) wrong.focus();

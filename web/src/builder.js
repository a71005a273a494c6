// The builder of bio pages: adds, removes and moves blocks and updates the preview. Without scripts, buttons do it.
import { showToast } from "./toast.js";

const form = document.querySelector("[data-builder]");
const list = form.querySelector("[data-blocks]");
const previewFrame = document.querySelector("iframe[name=phone]");
let addedCount = 0;

/** Updates the positions in the buttons, for screen readers and for a form submitted by one of them. */
function renumber() {
  [...list.children].forEach((block, index) => {
    for (const button of block.querySelectorAll("[data-do]")) {
      button.value = `${button.dataset.do}-${index}`;
      const label = button.querySelector(".visually-hidden");
      label.textContent = label.textContent.replace(/\d+$/, index + 1);
    }
  });
}

/** Keeps the focus on a button. The first block has no "up" and the last no "down": then its opposite gets it. */
function keepFocus(button, opposite) {
  button.focus();
  if (document.activeElement !== button) button.closest("[data-block]").querySelector(`[data-do=${opposite}]`).focus();
}

const ACTIONS = {
  add(button) {
    const html = document.querySelector(`template[data-kind="${button.dataset.type}"]`).innerHTML;
    addedCount += 1;
    list.insertAdjacentHTML("beforeend", html.replaceAll("KEY", `n${addedCount}-${Date.now()}`));
    list.lastElementChild.querySelector("input:not([type=hidden]), textarea")?.focus();
  },
  up(button) {
    const block = button.closest("[data-block]");
    block.previousElementSibling?.before(block);
    keepFocus(button, "down");
    showToast(form.dataset.up);
  },
  down(button) {
    const block = button.closest("[data-block]");
    block.nextElementSibling?.after(block);
    keepFocus(button, "up");
    showToast(form.dataset.down);
  },
  remove(button) {
    const block = button.closest("[data-block]");
    const next = block.nextElementSibling ?? block.previousElementSibling;
    block.remove();
    (next?.querySelector("[data-do=remove]") ?? form.querySelector("[data-do=add]")).focus();
    showToast(form.dataset.removed);
  },
};

form.addEventListener("click", (event) => {
  const button = event.target.closest("[data-do]");
  if (!button) return;
  event.preventDefault();
  ACTIONS[button.dataset.do](button);
  onChange();
});

// Drag and drop, in addition to the buttons; a drag starts at the handle.
let dragged = null;
list.addEventListener("pointerdown", (event) => {
  const block = event.target.closest("[data-grip]")?.closest("[data-block]");
  for (const item of list.children) item.draggable = item === block;
});
list.addEventListener("dragstart", (event) => {
  dragged = event.target.closest("[data-block]");
  dragged?.classList.add("dragging");
});
list.addEventListener("dragover", (event) => {
  const target = event.target.closest("[data-block]");
  if (!dragged || !target || target === dragged) return;
  event.preventDefault();
  const box = target.getBoundingClientRect();
  if (event.clientY < box.top + box.height / 2) target.before(dragged);
  else target.after(dragged);
});
list.addEventListener("drop", (event) => event.preventDefault());
list.addEventListener("dragend", () => {
  dragged?.classList.remove("dragging");
  for (const item of list.children) item.draggable = false;
  dragged = null;
  onChange();
});

let timer = 0;
let pendingRequest = null;
function onChange() {
  renumber();
  clearTimeout(timer);
  timer = setTimeout(updatePreview, 250);
}
form.addEventListener("input", onChange);
form.addEventListener("change", onChange);

// The first page of the frame can load after the first change.
previewFrame.addEventListener("load", () => {
  if (pendingRequest) updatePreview();
});

/** Replaces the content of the frame. Its policy forbids inline styles, so they become an adopted style sheet. */
async function updatePreview() {
  pendingRequest?.abort();
  pendingRequest = new AbortController();
  try {
    const response = await fetch("/dashboard/bios/phone", {
      method: "POST",
      body: new URLSearchParams(new FormData(form)),
      signal: pendingRequest.signal,
    });
    if (!response.ok || response.redirected) return; // redirected to the sign-in page
    const [before, style, after] = (await response.text()).split(/<style>|<\/style>/);
    const page = new DOMParser().parseFromString(before + after, "text/html");
    const frameDocument = previewFrame.contentDocument;
    const sheet = new previewFrame.contentWindow.CSSStyleSheet();
    sheet.replaceSync(style);
    frameDocument.querySelector("style")?.remove();
    frameDocument.adoptedStyleSheets = [sheet];
    frameDocument.body.replaceWith(frameDocument.adoptNode(page.body));
  } catch {
    // Aborted by a newer request or by leaving the page: the frame stays unchanged.
  }
}

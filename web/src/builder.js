// The builder of bio pages: adds, removes and moves blocks. Without scripts, buttons do it.
import { connectDragging } from "./block_drag.js";
import { connectFolding, open } from "./block_folding.js";
import { connectPictures } from "./pictures.js";
import { connectPreview } from "./bio_preview.js";
import { showToast } from "./toast.js";

const UNDO_DURATION = 10_000; // milliseconds
const form = document.querySelector("[data-builder]");
const list = form.querySelector("[data-blocks]");
let addedCount = 0;

/** Updates the positions in the buttons, for screen readers and for a form submitted by one of them. */
function renumber() {
  [...list.children].forEach((block, index) => {
    for (const button of block.querySelectorAll("[data-do]")) {
      button.value = `${button.dataset.do}-${index}`;
      button.querySelector("[data-position]").textContent = index + 1;
    }
  });
}

/** Keeps the focus on a button. The first block has no "up" and the last no "down": then its opposite gets it. */
function keepFocus(button, opposite) {
  button.focus();
  if (document.activeElement !== button) button.closest("[data-block]").querySelector(`[data-do=${opposite}]`).focus();
}

function remove(block) {
  const [before, after] = [block.previousElementSibling, block.nextElementSibling];
  block.remove();
  ((after ?? before)?.querySelector("[data-do=remove]") ?? form.querySelector("[data-do=add]")).focus();
  const run = () => {
    if (after?.isConnected) after.before(block);
    else if (before?.isConnected) before.after(block);
    else list.append(block);
    open(block);
    block.querySelector("summary").focus();
    announceChange();
  };
  showToast(form.dataset.removed, UNDO_DURATION, { label: form.dataset.undo, run });
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
    remove(button.closest("[data-block]"));
  },
};

form.addEventListener("click", (event) => {
  const button = event.target.closest("[data-do]");
  if (!button) return;
  event.preventDefault();
  ACTIONS[button.dataset.do](button);
  announceChange();
});

/** Tells the preview and the draft of the form that it has changed. */
function announceChange() {
  form.dispatchEvent(new Event("change"));
}

for (const type of ["input", "change"]) form.addEventListener(type, renumber);
connectDragging(list, announceChange);
connectFolding(form, list);
connectPictures(form);
connectPreview(form, list);

// The builder of bio pages: adds, removes and moves blocks. Without scripts, buttons do it.
import { connectDragging } from "./block_drag.js";
import { connectFolding, open } from "./block_folding.js";
import { connectPictures } from "./pictures.js";
import { connectPreview } from "./bio_preview.js";
import { showToast } from "./toast.js";

const UNDO_DURATION = 10_000; // milliseconds
const form = document.querySelector("[data-builder]");
const list = form.querySelector("[data-blocks]");
const REFERENCES = ["id", "name", "for", "aria-describedby", "popovertarget"];
let addedCount = 0;

/** Updates the positions in the buttons, for screen readers and for a form submitted by one of them. */
function renumber() {
  [...list.children].forEach((block, index) => {
    for (const button of block.querySelectorAll("[data-do]")) {
      button.value = `${button.dataset.do}-${index}`;
    }
    for (const position of block.querySelectorAll("[data-position]")) position.textContent = index + 1;
  });
}

/** Sets the focus on the button of a block's menu. */
function focusMenu(block) {
  block.querySelector("[popovertarget]").focus();
}

/** Returns a copy of a block with another key in its names, and without the id and the clicks of the block. */
function copyOf(block) {
  const [key, newKey] = [block.id, nextKey()];
  const copy = block.cloneNode(true);
  for (const element of [copy, ...copy.querySelectorAll("*")]) {
    for (const name of REFERENCES) {
      const value = element.getAttribute(name);
      if (value?.startsWith(key)) element.setAttribute(name, newKey + value.slice(key.length));
    }
  }
  copy.querySelector("[name=order]").value = newKey;
  const selects = [...block.querySelectorAll("select")];
  copy.querySelectorAll("select").forEach((select, index) => {
    select.value = selects[index].value;
  });
  copy.querySelector('[name$=".id"]').value = "";
  copy.querySelector("[data-clicks]")?.remove();
  return copy;
}

function nextKey() {
  addedCount += 1;
  return `n${addedCount}-${Date.now()}`;
}

function setHidden(button, isHidden) {
  const block = button.closest("[data-block]");
  block.querySelector("[data-hidden]").checked = isHidden;
  focusMenu(block);
  showToast(isHidden ? form.dataset.hide : form.dataset.show);
}

function remove(block) {
  const [before, after] = [block.previousElementSibling, block.nextElementSibling];
  block.remove();
  ((after ?? before)?.querySelector("[popovertarget]") ?? form.querySelector("[data-do=add]")).focus();
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
    list.insertAdjacentHTML("beforeend", html.replaceAll("KEY", nextKey()));
    list.lastElementChild.querySelector("input:not([type=hidden]), textarea")?.focus();
  },
  up(button) {
    const block = button.closest("[data-block]");
    block.previousElementSibling?.before(block);
    focusMenu(block);
    showToast(form.dataset.up);
  },
  down(button) {
    const block = button.closest("[data-block]");
    block.nextElementSibling?.after(block);
    focusMenu(block);
    showToast(form.dataset.down);
  },
  duplicate(button) {
    const block = button.closest("[data-block]");
    const copy = copyOf(block);
    block.after(copy);
    open(copy);
    copy.querySelector("summary").focus();
    showToast(form.dataset.duplicated);
  },
  hide(button) {
    setHidden(button, true);
  },
  show(button) {
    setHidden(button, false);
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

// The builder of bio pages: blocks come, go and move at once, and the phone shows each change. Without this, buttons do.
import { tell } from "./telling.js";

const form = document.querySelector("[data-builder]");
const list = form.querySelector("[data-blocks]");
const phone = document.querySelector("iframe[name=phone]");
let made = 0;

/** The buttons say their place too, for screen readers and in case that the form is sent by one of them. */
function number() {
  [...list.children].forEach((block, place) => {
    for (const button of block.querySelectorAll("[data-do]")) {
      button.value = `${button.dataset.do}-${place}`;
      const words = button.querySelector(".unseen");
      words.textContent = words.textContent.replace(/\d+$/, place + 1);
    }
  });
}

/** The button stays where the keys are; at the end of the way it is hidden, and its opposite takes over. */
function keep(button, opposite) {
  button.focus();
  if (document.activeElement !== button) button.closest("[data-block]").querySelector(`[data-do=${opposite}]`).focus();
}

const ACTS = {
  add(button) {
    const blank = document.querySelector(`template[data-kind="${button.dataset.type}"]`).innerHTML;
    made += 1;
    list.insertAdjacentHTML("beforeend", blank.replaceAll("KEY", `n${made}-${Date.now()}`));
    list.lastElementChild.querySelector("input:not([type=hidden]), textarea")?.focus();
  },
  up(button) {
    const block = button.closest("[data-block]");
    block.previousElementSibling?.before(block);
    keep(button, "down");
    tell(form.dataset.up);
  },
  down(button) {
    const block = button.closest("[data-block]");
    block.nextElementSibling?.after(block);
    keep(button, "up");
    tell(form.dataset.down);
  },
  remove(button) {
    const block = button.closest("[data-block]");
    const next = block.nextElementSibling ?? block.previousElementSibling;
    block.remove();
    (next?.querySelector("[data-do=remove]") ?? form.querySelector("[data-do=add]")).focus();
    tell(form.dataset.removed);
  },
};

form.addEventListener("click", (event) => {
  const button = event.target.closest("[data-do]");
  if (!button) return;
  event.preventDefault();
  ACTS[button.dataset.do](button);
  changed();
});

// Moved by hand, as an addition: it begins at the grip, and the buttons do the same.
let dragged = null;
list.addEventListener("pointerdown", (event) => {
  const block = event.target.closest("[data-grip]")?.closest("[data-block]");
  for (const one of list.children) one.draggable = one === block;
});
list.addEventListener("dragstart", (event) => {
  dragged = event.target.closest("[data-block]");
  dragged?.classList.add("dragged");
});
list.addEventListener("dragover", (event) => {
  const over = event.target.closest("[data-block]");
  if (!dragged || !over || over === dragged) return;
  event.preventDefault();
  const box = over.getBoundingClientRect();
  if (event.clientY < box.top + box.height / 2) over.before(dragged);
  else over.after(dragged);
});
list.addEventListener("drop", (event) => event.preventDefault());
list.addEventListener("dragend", () => {
  dragged?.classList.remove("dragged");
  for (const one of list.children) one.draggable = false;
  dragged = null;
  changed();
});

let waiting = 0;
let asked = null;
function changed() {
  number();
  clearTimeout(waiting);
  waiting = setTimeout(show, 250);
}
form.addEventListener("input", changed);
form.addEventListener("change", changed);

// What the frame began with may come later than the first change.
phone.addEventListener("load", () => {
  if (asked) show();
});

/** Puts the page as it would be into the frame, whose policy allows no style but ours: so by its style sheets. */
async function show() {
  asked?.abort();
  asked = new AbortController();
  try {
    const answer = await fetch("/dashboard/bios/phone", {
      method: "POST",
      body: new URLSearchParams(new FormData(form)),
      signal: asked.signal,
    });
    if (!answer.ok || answer.redirected) return; // to the sign-in, which is no page of theirs
    const [before, style, after] = (await answer.text()).split(/<style>|<\/style>/);
    const page = new DOMParser().parseFromString(before + after, "text/html");
    const inside = phone.contentDocument;
    const sheet = new phone.contentWindow.CSSStyleSheet();
    sheet.replaceSync(style);
    inside.querySelector("style")?.remove();
    inside.adoptedStyleSheets = [sheet];
    inside.body.replaceWith(inside.adoptNode(page.body));
  } catch {
    // Asked again, or on the way to another page: the frame keeps what it shows.
  }
}

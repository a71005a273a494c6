// The command palette: the search page in a dialog, opened by Ctrl K or ⌘ K.
import { $ } from "./dom.js";

const dialog = $("#palette");
const RESULT = "a.result, button.result";

/** Opens the palette, or on the search page moves the focus to its field. */
export function openPalette() {
  if (!dialog) return $("#search").focus();
  if ($("dialog[open]")) return;
  dialog.showModal();
  const field = $("input", dialog);
  field.select();
  field.form.dispatchEvent(new Event("palette"));
}

/** Moves the focus among the field and the results; the last one is followed by the field. */
function moveFocus(root, step) {
  const stops = [$("[type=search]", root), ...root.querySelectorAll(RESULT)];
  const index = stops.indexOf(document.activeElement);
  stops.at((Math.max(index, 0) + step) % stops.length).focus();
}

const root = dialog ?? $("main:has(#results)");
root?.addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) {
    event.preventDefault();
    moveFocus(root, step);
  } else if (event.key === "Enter" && event.target.matches("#palette-q")) {
    const first = $(RESULT, root);
    if (first && event.target.value.trim()) {
      event.preventDefault();
      event.stopPropagation();
      first.click();
    }
  }
});

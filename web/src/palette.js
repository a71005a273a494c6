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
  showFirstResults(field);
}

/** Shows the results of the field's text when the palette opens; htmx replaces them when the user types. */
async function showFirstResults(field) {
  const text = field.value;
  const response = await fetch(`/dashboard/search?q=${encodeURIComponent(text)}`).catch(() => null);
  if (!response?.ok) return;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const results = $("#results", page);
  if (results && field.value === text) $("#palette-results").replaceChildren(results);
}

/** Announces the number of results: screen readers read only changes of a status that is there already. */
function announceCount(count) {
  if (!count || "announced" in count.dataset) return;
  count.dataset.announced = "";
  const text = count.textContent;
  count.textContent = "\u00a0"; // keeps the height
  setTimeout(() => (count.textContent = text), 200);
}

/** Moves the focus among the field and the results; the last one is followed by the field. */
function moveFocus(root, step) {
  const stops = [$("[type=search]", root), ...root.querySelectorAll(RESULT)];
  const index = stops.indexOf(document.activeElement);
  stops.at((Math.max(index, 0) + step) % stops.length).focus();
}

const root = dialog ?? $("main:has(#results)");
if (root) {
  const announce = () => announceCount($("[data-results-count]", root));
  new MutationObserver(announce).observe(root, { childList: true, subtree: true });
  announce();
}
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

// The sheet of filters and orders of a list: the number of active filters on its button, and the order of the shown rows.
import { $ } from "./dom.js";

document.addEventListener("change", ({ target }) => {
  const sheet = target.closest?.(".filter-sheet");
  if (sheet) showCount(sheet);
});

function showCount(sheet) {
  const fields = [...sheet.querySelectorAll(":is(select, input)[name]:not([name=order])")];
  const label = $("[data-filter-count]");
  label.textContent = fields.filter((field) => field.value).length;
  label.hidden = label.textContent === "0";
}

/** Selects the order of the rows, which a head of a column can change, and marks the saved view that they show. */
export function showOrder(rows) {
  const select = $(".filter-sheet [name=order]");
  if (select) select.value = rows.dataset.order;
  const current = $(".views [aria-current]", rows)?.href;
  for (const link of document.querySelectorAll(".view-links a")) {
    if (link.href === current) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

// The sheet of filters and orders of a list: the number of active filters on its button, the order of the shown rows, and
// links with the query of the list.
import { $ } from "./dom.js";

document.addEventListener("change", ({ target }) => {
  const sheet = target.closest?.(".filter-sheet");
  if (sheet) showCount(sheet);
});

function showCount(sheet) {
  const fields = [...sheet.querySelectorAll(":is(select, input)[name]:not([name=order])")];
  const hasDays = $("[name=period]", sheet)?.value === "days";
  const isActive = ({ type, value }) => value && value !== "days" && (hasDays || type !== "date");
  const label = $("[data-filter-count]");
  label.textContent = fields.filter(isActive).length;
  label.hidden = label.textContent === "0";
}

/** Selects the order of the rows, which a head of a column can change, and marks the saved view that they show. */
export function showOrder(rows) {
  const select = $(".filter-sheet [name=order]");
  if (select) select.value = rows.dataset.order;
  for (const link of document.querySelectorAll("[data-same-query]")) link.search = rows.dataset.query;
  const current = $(".views [aria-current]", rows)?.href;
  for (const link of document.querySelectorAll(".view-links a")) {
    if (link.href === current) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

// Keys of lists: arrows move the focus from row to row, other keys act on the row with the focus.
import { $ } from "./dom.js";

const ROW = ".resource-table tbody tr";
const rowWithFocus = () => document.activeElement.closest(ROW);
const mainLink = (row) => $("a.name, td a[href]", row);

/** Moves the focus to the next or previous row; returns false if there is none. */
function moveRow(step) {
  const rows = [...document.querySelectorAll(ROW)];
  const current = rows.indexOf(rowWithFocus());
  const row = current < 0 ? rows[step > 0 ? 0 : rows.length - 1] : rows[current + step];
  const link = row && mainLink(row);
  if (!link) return false;
  link.focus();
  return true;
}

/** Runs the action of a key on the row with the focus, and returns whether there is one. */
export function pressRowKey(event) {
  if (event.key === "ArrowDown" || event.key === "ArrowUp")
    return !event.shiftKey && !event.target.closest("summary, nav") && moveRow(event.key === "ArrowDown" ? 1 : -1);
  const row = rowWithFocus();
  if (!row || document.body.dataset.shortcuts === "off") return false;
  const control = event.key === "x" ? $("[type=checkbox][name]", row) : $(`[data-key="${CSS.escape(event.key)}"]`, row);
  control?.click();
  return Boolean(control);
}

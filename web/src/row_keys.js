// Keys of lists, the gallery of QR codes and visits: arrows, J and K move the focus from row to row, others act on the row.
import { $ } from "./dom.js";

const ROW = ":is(.resource-table, .visits) tbody tr, .gallery > li";
const STEPS = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 };
const rowWithFocus = () => document.activeElement.closest(ROW);
const mainLink = (row) => $("a.name, td a[href]", row);

/** Moves the focus to the next or previous row with a link; returns false if there is none. */
function moveRow(step) {
  const rows = [...document.querySelectorAll(ROW)].filter(mainLink);
  const current = rows.indexOf(rowWithFocus());
  const row = current < 0 ? rows[step > 0 ? 0 : rows.length - 1] : rows[current + step];
  if (!row) return false;
  mainLink(row).focus();
  return true;
}

/** Runs the action of a key on the row with the focus, and returns whether there is one. */
export function pressRowKey(event) {
  const isOff = document.body.dataset.shortcuts === "off";
  const step = isOff && event.key.length === 1 ? undefined : STEPS[event.key];
  if (step) return !event.shiftKey && !event.target.closest("summary, nav") && moveRow(step);
  const row = rowWithFocus();
  if (!row || isOff) return false;
  const control = event.key === "x" ? $("[type=checkbox][name]", row) : $(`[data-key="${CSS.escape(event.key)}"]`, row);
  control?.click();
  return Boolean(control);
}

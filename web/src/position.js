// The position in a list: shown rows start at the top, and an action on a row returns to the scroll position.
import { $ } from "./dom.js";
import { showOrder } from "./filters.js";
import { showSelection } from "./selection.js";
import { showToast } from "./toast.js";

const KEY = "waypost-list-position";
const currentPage = () => `${location.pathname}?${new URLSearchParams(location.search)}`;

document.addEventListener("htmx:before:swap", (event) => {
  const oldRows = $("#rows");
  if (!oldRows || event.defaultPrevented) return;
  const isLink = event.detail.ctx.sourceEvent.type === "click"; // typing keeps the focus in the search field
  // The source of htmx's later events is often removed by then, so that they do not reach the document.
  new MutationObserver((_, observer) => {
    const rows = $("#rows");
    if (!rows || rows === oldRows) return;
    observer.disconnect();
    announceCount(rows);
    showSelection(rows);
    showOrder(rows);
    if (isLink) showStart(rows);
  }).observe($("main"), { childList: true, subtree: true });
});

/** Tells screen readers how many rows there are. */
function announceCount(rows) {
  const status = $("[data-list-status]");
  if (status) status.textContent = $(".pagination p, .empty h2", rows)?.textContent.trim() ?? "";
}

/** Moves the focus to the rows of another page or order, and scrolls up to them. */
function showStart(rows) {
  rows.tabIndex = -1;
  rows.focus({ preventScroll: true });
  if (rows.getBoundingClientRect().top < 0) rows.scrollIntoView({ block: "start" });
}

function storePosition() {
  sessionStorage.setItem(KEY, JSON.stringify([currentPage(), scrollY]));
}

document.addEventListener("submit", ({ target }) => {
  if ($("#rows") && target.method === "post") storePosition();
});
document.addEventListener("click", ({ target }) => {
  if (target.closest?.("#rows a[href]")) storePosition();
});

const [page, top] = JSON.parse(sessionStorage.getItem(KEY) ?? "[]");
if ($("#rows") && page === currentPage()) {
  sessionStorage.removeItem(KEY);
  const message = $("main > .alert p")?.textContent.trim();
  // The message at the top of the page is out of sight.
  const undo = $("main > .alert [data-undo] button");
  const action = undo && { label: undo.textContent.trim(), run: () => undo.click() };
  if (message && top > 0) showToast(message, 8000, action);
  scrollTo(0, top);
}

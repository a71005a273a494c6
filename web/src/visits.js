// The page of visits: new visits without reloading.
import { $ } from "./dom.js";
import { TIMEOUT } from "./toast.js";

const POLL_MS = 10_000;
const MAX_ROWS = 500;

/** Fetches the visits that are newer than the first row, and puts them above it. */
async function addNewVisits() {
  const box = $("#visits");
  if (document.hidden || !box.dataset.newest) return;
  const url = new URL(location.href);
  url.searchParams.set("after", box.dataset.newest);
  const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT) });
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const newer = $("#visits", page);
  const rows = newer ? [...newer.querySelectorAll("tbody tr")] : [];
  if (!rows.length) return;
  if (newer.dataset.more || !$("tbody", box)) return location.reload(); // more than a page of them, or the first ones
  box.dataset.newest = newer.dataset.newest;
  for (const row of rows) row.classList.add("new");
  $("tbody", box).prepend(...rows);
  for (const row of [...box.querySelectorAll("tbody tr")].slice(MAX_ROWS)) row.remove();
  const status = $("#new-visits");
  status.textContent = (rows.length === 1 ? status.dataset.one : status.dataset.many).replace("%", rows.length);
  document.dispatchEvent(new Event("times-added"));
}

$(".filters").addEventListener("change", ({ currentTarget }) => currentTarget.requestSubmit());
setInterval(() => addNewVisits().catch(() => {}), POLL_MS); // after a fault, the next poll tries again
document.addEventListener("visibilitychange", () => addNewVisits().catch(() => {}));

// The page of visits: relative times, and new visits without reloading.
import { $ } from "./dom.js";
import { language } from "./locale.js";
import { TIMEOUT } from "./toast.js";

const POLL_MS = 10_000;
const MAX_ROWS = 500;
const UNITS = [
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
];
const phone = matchMedia("(max-width: 44rem)"); // shows a visit in one line

function newFormat() {
  const style = phone.matches ? "narrow" : "long";
  return new Intl.RelativeTimeFormat(language, { numeric: "auto", style });
}

let format = newFormat();

function formatAge(seconds) {
  const [unit, length] = UNITS.find(([, length]) => seconds >= length) ?? ["second", 1];
  return format.format(-Math.floor(seconds / length), unit);
}

function updateTimes() {
  for (const time of document.querySelectorAll("time[data-relative]")) {
    time.title ||= time.textContent;
    time.textContent = formatAge(Math.max(0, (Date.now() - new Date(time.dateTime)) / 1000));
  }
}

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
  updateTimes();
}

$(".filters").addEventListener("change", ({ currentTarget }) => currentTarget.requestSubmit());
updateTimes();
setInterval(() => {
  updateTimes();
  addNewVisits().catch(() => {}); // the next poll tries again
}, POLL_MS);
phone.addEventListener("change", () => {
  format = newFormat();
  updateTimes();
});
document.addEventListener("visibilitychange", () => addNewVisits().catch(() => {}));

// The page of visits: new visits as they happen.
import { $ } from "./dom.js";

const MAX_ROWS = 500;
const RELOAD_MS = 10_000; // a page that is loaded again after too many visits stays at least so long
const RETRY_MS = 10_000; // after an error for which the browser does not connect again
const box = $("#visits");
const live = $("#live");
let stream, timer;

const newestId = () => $("tr[data-id]", box)?.dataset.id;

/** Puts a row at its place, which is nearly always the first one. */
function insert(row, body) {
  const next = [...body.rows].find((other) => Number(other.dataset.id) < Number(row.dataset.id));
  body.insertBefore(row, next ?? null);
}

/** Adds the rows of a message that are not shown yet. */
function add({ data }) {
  const body = $("tbody", box);
  if (!body) return location.reload(); // the first visits
  const template = document.createElement("template");
  template.innerHTML = data;
  const rows = [...template.content.children].filter((row) => !$(`[data-id="${row.dataset.id}"]`, body));
  if (!rows.length) return;
  for (const row of body.querySelectorAll(".new")) row.classList.remove("new");
  for (const row of rows) {
    row.classList.add("new");
    insert(row, body);
  }
  for (const row of [...body.rows].slice(MAX_ROWS)) row.remove();
  const status = $("#new-visits");
  status.textContent = (rows.length === 1 ? status.dataset.one : status.dataset.many).replace("%", rows.length);
  document.dispatchEvent(new Event("times-added"));
}

function disconnect() {
  clearTimeout(timer);
  stream?.close();
  stream = null;
}

function connect() {
  disconnect();
  if (document.hidden || live.getAttribute("aria-pressed") !== "true") return;
  const url = new URL(box.dataset.live, location.href);
  if (newestId()) url.searchParams.set("after", newestId());
  stream = new EventSource(url);
  stream.addEventListener("visits", add);
  stream.addEventListener("gap", () => performance.now() > RELOAD_MS && location.reload());
  stream.addEventListener("error", () => {
    if (stream?.readyState === EventSource.CLOSED) timer = setTimeout(connect, RETRY_MS);
  });
}

$(".filters").addEventListener("change", ({ currentTarget }) => currentTarget.requestSubmit());
if (live) {
  live.addEventListener("click", () => {
    live.setAttribute("aria-pressed", String(live.getAttribute("aria-pressed") !== "true"));
    connect();
  });
  document.addEventListener("visibilitychange", connect);
  window.addEventListener("pagehide", disconnect);
  window.addEventListener("pageshow", ({ persisted }) => persisted && connect());
  connect();
}

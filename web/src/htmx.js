// Parts of pages, fetched by htmx: only the newest response counts (hx-sync in app.html), nothing is replaced while the
// pointer is pressed, and a failed request leaves the page unchanged.
import htmx from "htmx.org";
import { showToast, TIMEOUT } from "./toast.js";

htmx.config.defaultTimeout = TIMEOUT;
htmx.config.history = "reload"; // "Back" is the browser's own, which also reports failures

/** Resolves after the pointer was released and the click was handled; null before the first press. */
let pointerReleased = null;
addEventListener(
  "pointerdown",
  () => {
    pointerReleased = new Promise((resolve) => {
      for (const type of ["pointerup", "pointercancel", "contextmenu"])
        addEventListener(type, () => setTimeout(resolve), { once: true });
    });
  },
  true,
);

document.addEventListener("htmx:config:request", ({ detail: { ctx } }) => {
  ctx.fetch = async (url, options) => {
    const response = await fetch(url, options);
    const text = await response.text();
    await pointerReleased;
    options.signal.throwIfAborted();
    response.text = () => text;
    return response;
  };
});

let wasTyped = false;
document.addEventListener("htmx:before:swap", (event) => {
  const { ctx, tasks } = event.detail;
  const [{ fragment }] = tasks;
  if (!fragment.childElementCount) {
    // An error page or the page of a proxy: it lacks the requested part.
    event.preventDefault();
    reportFailure(ctx);
    return;
  }
  for (const box of ctx.target.querySelectorAll("tbody [type=checkbox][name]:checked")) {
    const newBox = fragment.querySelector(`[name="${box.name}"][value="${CSS.escape(box.value)}"]`);
    if (newBox) newBox.checked = true;
  }
  // A search is one entry of the history, however many requests its typing made; the current URL adds none.
  const isTyped = ctx.sourceEvent.type === "input";
  const path = ctx.request.action;
  if (ctx.push && ((isTyped && wasTyped) || path === location.pathname + location.search))
    [ctx.replace, ctx.push] = [ctx.push, null];
  wasTyped = isTyped;
});

document.addEventListener("htmx:error", ({ detail: { ctx } }) => {
  if (ctx) reportFailure(ctx);
});

/** Shows that a request failed; not for polling, which tries again by itself. */
function reportFailure(ctx) {
  if (ctx.sourceEvent.type !== "every") showToast(document.querySelector(".toasts").dataset.failed, 6000);
}

// Parts of pages, which htmx fetches: the newest question counts (hx-sync in inside.html), nothing is taken from under
// a finger, and what is no answer changes nothing.
import htmx from "htmx.org";
import { PATIENCE, tell } from "./telling.js";

htmx.config.defaultTimeout = PATIENCE;
htmx.config.history = "reload"; // "Back" is the browser's own: it says when a page does not come

/** While something is pressed: settled when it was let go, and what that leads to has been done. */
let pressed = null;
addEventListener(
  "pointerdown",
  () => {
    pressed = new Promise((resolve) => {
      for (const end of ["pointerup", "pointercancel", "contextmenu"])
        addEventListener(end, () => setTimeout(resolve), { once: true });
    });
  },
  true,
);

document.addEventListener("htmx:config:request", ({ detail: { ctx } }) => {
  ctx.fetch = async (url, options) => {
    const answer = await fetch(url, options);
    const words = await answer.text();
    await pressed;
    options.signal.throwIfAborted();
    answer.text = () => words;
    return answer;
  };
});

let wasTyped = false;
document.addEventListener("htmx:before:swap", (event) => {
  const { ctx, tasks } = event.detail;
  const [{ fragment }] = tasks;
  if (!fragment.childElementCount) {
    // a problem, or somebody else's page: without the part that was asked for
    event.preventDefault();
    fail(ctx);
    return;
  }
  for (const box of ctx.target.querySelectorAll("[type=checkbox][name]:checked")) {
    const same = fragment.querySelector(`[name="${box.name}"][value="${CSS.escape(box.value)}"]`);
    if (same) same.checked = true;
  }
  // "Back" has one step for a search, in however many pieces it was typed, and none to where one is.
  const typed = ctx.sourceEvent.type === "input";
  const path = ctx.request.action;
  if (ctx.push && ((typed && wasTyped) || path === location.pathname + location.search))
    [ctx.replace, ctx.push] = [ctx.push, null];
  wasTyped = typed;
});

document.addEventListener("htmx:error", ({ detail: { ctx } }) => {
  if (ctx) fail(ctx);
});

/** Says that a part did not come; what looks again by itself says nothing. */
function fail(ctx) {
  if (ctx.sourceEvent.type !== "every") tell(document.querySelector(".toasts").dataset.broke, 6000);
}

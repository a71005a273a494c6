// Quick create: the response replaces the form, so that an error, or the new or existing short URL is shown in place.
import { writeText } from "./copy.js";
import { $ } from "./dom.js";
import { isBusy, setBusy, showToast, TIMEOUT } from "./toast.js";

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.matches?.("[data-quick]")) return;
  event.preventDefault();
  if (isBusy(form)) return;
  const pending = [form, event.submitter].filter(Boolean);
  for (const element of pending) setBusy(element);
  const page = await send(form, event.submitter);
  if (page && $("[name=kept]", page)) return form.submit(); // the session has ended: the sign-in page keeps the fields
  for (const element of pending) setBusy(element, false);
  const response = page && $("[data-quick]", page);
  if (response) show(form, response);
  else showToast($(".toasts").dataset.failed, 6000);
});

/** Returns the page with the answer or with the kept fields; null for any other page, which has an empty form. */
async function send(form, button) {
  const body = new URLSearchParams(new FormData(form));
  if (button?.name) body.set(button.name, button.value);
  body.set("quick", form.dataset.quick);
  try {
    const response = await fetch(form.action, { method: "POST", body, signal: AbortSignal.timeout(TIMEOUT) });
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const isAnswer = !response.redirected && [200, 400].includes(response.status);
    return isAnswer || $("[name=kept]", page) ? page : null;
  } catch {
    return null;
  }
}

function show(form, response) {
  const dialog = form.closest("dialog");
  form.replaceWith(response);
  const result = $(".quick-result", response);
  const first = (result && $("[data-copy]", result)) ?? $("[aria-invalid]", response) ?? $("[name=url]", response);
  first.focus();
  if (!result) return;
  complete(result);
  if (!("created" in result.dataset)) return;
  if (dialog) dialog.dataset.created = "";
  updateChecklists();
}

/** Shows the button for sharing where the device has it, and copies a new short URL. */
function complete(result) {
  $("[data-share]", result).hidden = !navigator.share;
  if ("created" in result.dataset) copyCreated(result);
}

/** Copies a new short URL, and says so once. Where the browser forbids that without a click, the button remains. */
async function copyCreated(result) {
  const [state, button] = [$("[data-copied]", result), $("[data-copy]", result)];
  if (await writeText(button.dataset.copy, button)) state.textContent = state.dataset.copied;
}

/** Shows the fields of the form again, for another link. */
document.addEventListener("click", (event) => {
  const result = event.target.closest?.("[data-again]")?.closest(".quick-result");
  if (!result) return;
  const form = result.closest("form");
  result.remove();
  $("[name=url]", form).focus();
});

/** Marks the step of a checklist as done that the new link completes. */
async function updateChecklists() {
  const lists = $(".checklists");
  if (!lists) return;
  try {
    const response = await fetch(location.href, { signal: AbortSignal.timeout(TIMEOUT) });
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const current = $(".checklists", page);
    if (current) lists.replaceWith(current);
  } catch {
    // The lists stay as they are until the next page.
  }
}

// The list lacks a link that was created in the dialog.
$("#create")?.addEventListener("close", ({ target }) => {
  if ("created" in target.dataset && location.pathname === "/dashboard/links") location.reload();
});

// The form with all options shows the new link on the next page.
const arrived = $("[data-arrived] .quick-result");
if (arrived) complete(arrived);

// Quick create: the response replaces the form, so that an error or the new short URL is shown in place.
import { $ } from "./dom.js";
import { isBusy, setBusy, showToast, TIMEOUT } from "./toast.js";

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.matches?.("[data-quick]")) return;
  event.preventDefault();
  if (isBusy(form)) return;
  const pending = [form, event.submitter].filter(Boolean);
  for (const element of pending) setBusy(element);
  const response = await send(form);
  for (const element of pending) setBusy(element, false);
  if (response) show(form, response);
  else showToast($(".toasts").dataset.failed, 6000);
});

/** Returns the form of the response; null if the request failed. */
async function send(form) {
  const body = new URLSearchParams(new FormData(form));
  body.set("quick", form.dataset.quick);
  try {
    const response = await fetch(form.action, { method: "POST", body, signal: AbortSignal.timeout(TIMEOUT) });
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    return $("[data-quick]", page);
  } catch {
    return null;
  }
}

function show(form, response) {
  const dialog = form.closest("dialog");
  form.replaceWith(response);
  const result = $(".quick-result", response);
  if (result && dialog) dialog.dataset.created = "";
  (
    $("[data-copy]", result ?? document.createElement("p")) ??
    $("[aria-invalid]", response) ??
    $("[name=url]", response)
  ).focus();
}

// The list lacks a link that was created in the dialog.
$("#create")?.addEventListener("close", ({ target }) => {
  if ("created" in target.dataset && location.pathname === "/dashboard/links") location.reload();
});

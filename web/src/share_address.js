// Share statistics with one click: the response has the address, which is copied. Its page has the options.
import { writeText } from "./copy.js";
import { $ } from "./dom.js";
import { isBusy, setBusy, showToast, TIMEOUT } from "./toast.js";

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.matches?.("[data-share-address]")) return;
  event.preventDefault();
  const button = $("button", form);
  if (isBusy(button)) return;
  setBusy(button);
  const shared = await create(form);
  setBusy(button, false);
  if (!shared) return form.submit();
  const options = form.action.replace(/\/address$/, "");
  // The shared page understands the same period and filter.
  if (!(await writeText(shared.address + location.search, button))) return location.assign(options);
  const text = location.search ? form.dataset.shareFiltered : form.dataset.shareAddress;
  const undo = shared.undo && { label: shared.undo.textContent.trim(), run: () => revoke(shared.undo.form) };
  showToast(text, 8000, { label: form.dataset.options, run: () => location.assign(options) }, undo);
});

/** Returns the address, and the button that revokes it if it is new; null if there is none, such as after the session. */
async function create(form) {
  const page = await post(form);
  const address = page && $(".alert [data-copy]", page)?.dataset.copy;
  return address ? { address, undo: $(".alert [data-undo] button", page) } : null;
}

/** Removes a new address, and shows the message of the response. */
async function revoke(form) {
  const page = await post(form);
  showToast((page && $("main > .alert p", page)?.textContent.trim()) || $(".toasts").dataset.failed, 6000);
}

/** Sends a form; returns the page of the response, null if it failed. */
async function post(form) {
  try {
    const body = new URLSearchParams(new FormData(form));
    const response = await fetch(form.action, { method: "POST", body, signal: AbortSignal.timeout(TIMEOUT) });
    return response.ok ? new DOMParser().parseFromString(await response.text(), "text/html") : null;
  } catch {
    return null;
  }
}

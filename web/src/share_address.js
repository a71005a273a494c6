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
  const address = await create(form);
  setBusy(button, false);
  if (!address) return form.submit();
  const options = form.action.replace(/\/address$/, "");
  // The shared page understands the same period and filter.
  if (!(await writeText(address + location.search, button))) return location.assign(options);
  const text = location.search ? form.dataset.shareFiltered : form.dataset.shareAddress;
  showToast(text, 8000, { label: form.dataset.options, run: () => location.assign(options) });
});

/** Returns the address; null if there is none, such as after the end of the session. */
async function create(form) {
  try {
    const body = new URLSearchParams(new FormData(form));
    const response = await fetch(form.action, { method: "POST", body, signal: AbortSignal.timeout(TIMEOUT) });
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    return response.ok ? ($(".alert [data-copy]", page)?.dataset.copy ?? null) : null;
  } catch {
    return null;
  }
}

// Dialogs: a new link, and confirmations that are fetched from the page that a link or the button of a selection opens.
import { $ } from "./dom.js";
import { isBusy, setBusy, showToast, TIMEOUT } from "./toast.js";

/** Opens the dialog for a new link, with a destination if one is given. */
export function openCreateDialog(url = "") {
  const dialog = $("#create");
  if (!dialog) return;
  $("[data-created]", dialog)?.remove(); // the link before shows instead of the fields
  const field = $("#create-url");
  if (url) field.value = url;
  dialog.showModal();
  (url ? $("#create-custom") : field).focus();
}

let pendingRequest = null;

/** Aborts the confirmation that is being loaded. */
export function cancelConfirmation() {
  pendingRequest?.abort();
  pendingRequest = null;
}

/** Fetches a page; null if the request fails or is aborted. By default, a redirect is not followed. */
export async function fetchPage(url, options) {
  try {
    const response = await fetch(url, { redirect: "manual", ...options });
    const isRedirected = response.type === "opaqueredirect" || response.redirected;
    return {
      isRedirected,
      url: response.url,
      page: new DOMParser().parseFromString(await response.text(), "text/html"),
    };
  } catch {
    return null;
  }
}

/** Shows the list of a selection with the message of the response, for example that nothing was selected. */
function showList(form) {
  if (form.matches(".confirmation")) location.assign($("[data-close]", form).href);
  else location.reload();
}

/** Shows the confirmation of a page in a dialog. Any action of the user in between cancels it.
 * `source` is the link or button that asks for it; `follow` opens the page without a dialog, if it has no confirmation. */
async function showConfirmation(source, url, options, follow) {
  const request = (pendingRequest = new AbortController());
  const timeout = setTimeout(() => request.abort(), TIMEOUT);
  setBusy(source);
  const response = await fetchPage(url, { ...options, signal: request.signal });
  setBusy(source, false);
  clearTimeout(timeout);
  const open = $("dialog[open]");
  if (pendingRequest !== request || (open && !open.contains(source))) return;
  if (response?.isRedirected && options.method === "post") return showList(source.form);
  const confirmation = response && $(".confirmation", response.page);
  if (!confirmation) return follow();
  show(confirmation);
}

function show(confirmation) {
  const dialog = $("#confirmation");
  const content = document.createElement("article");
  content.append(confirmation);
  dialog.replaceChildren(content);
  dialog.setAttribute("aria-label", $("h1", confirmation)?.textContent ?? "");
  if (!dialog.open) dialog.showModal();
  // Cancel has the focus, so that pressing Enter twice deletes nothing.
  ($("[data-summary], [aria-invalid=true]", confirmation) ?? $("[data-close]", confirmation))?.focus();
}

/** Shows the confirmation of a link's page in a dialog, or follows the link if that fails. */
export function openConfirmation(link) {
  return showConfirmation(link, link.href, {}, () => location.assign(link.href));
}

/** Forms that are sent without a dialog, because it failed. */
const followed = new Set();

/** Returns whether a button asks a question, so that its response is a confirmation, or ends with the list.
 * Its group can say so, and a checkbox for all buttons of the form. */
function asksFirst(form, button) {
  if (!button || button.matches("[data-download], [formaction]")) return false;
  return Boolean(button.closest("[data-dialog]") ?? $("[data-dialog]:checked", form));
}

document.addEventListener("submit", (event) => {
  const { target: form, submitter } = event;
  if (event.defaultPrevented || followed.delete(form) || !asksFirst(form, submitter)) return;
  event.preventDefault();
  const body = new URLSearchParams(new FormData(form));
  if (submitter.name) body.set(submitter.name, submitter.value);
  const follow = () => {
    followed.add(form);
    form.requestSubmit(submitter);
  };
  // A field or button called "action" hides the property of the form.
  const url = form.getAttribute("action");
  if (form.matches(".confirmation")) sendAnswer(form, submitter, url, body, follow);
  else showConfirmation(submitter, url, { method: "post", body }, follow);
});

/** Sends a confirmation with fields, once: it changes items. A mistake is shown in the dialog. */
async function sendAnswer(form, button, url, body, follow) {
  if (isBusy(form)) return;
  for (const element of [form, button]) setBusy(element);
  const response = await fetchPage(url, { method: "post", body, signal: AbortSignal.timeout(TIMEOUT) });
  for (const element of [form, button]) setBusy(element, false);
  if (!response) return showToast($(".toasts").dataset.failed, 6000);
  if (response.isRedirected) return showList(form);
  const confirmation = $(".confirmation", response.page);
  if (!confirmation) return follow();
  if (form.isConnected) show(confirmation);
}

// Before the other listeners, of which one loads a confirmation.
for (const type of ["input", "submit", "pagehide"]) addEventListener(type, cancelConfirmation, true);

let pointerTarget = null;
addEventListener(
  "pointerdown",
  (event) => {
    pointerTarget = event.target;
  },
  true,
);

/** Closes a dialog whose backdrop was clicked, unless the click started inside of it. */
export function closeOnBackdropClick({ target }) {
  if (target.matches?.("dialog") && pointerTarget === target) target.close();
}

// The second press of a double click must not reach a dialog that the first one opened.
let firstClickTarget = null;
addEventListener(
  "click",
  (event) => {
    if (event.detail < 2) firstClickTarget = event.target;
    const dialog = event.target.closest?.("dialog");
    if (!dialog || dialog.contains(firstClickTarget)) return;
    event.preventDefault();
    event.stopPropagation();
  },
  true,
);

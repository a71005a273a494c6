// Dialogs: a new link, and confirmations that are fetched from the page that a link opens.
import { $ } from "./dom.js";
import { setBusy, TIMEOUT } from "./toast.js";

/** Opens the dialog for a new link, with a destination if one is given. */
export function openCreateDialog(url = "") {
  const dialog = $("#create");
  if (!dialog) return;
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

/** Returns the confirmation on a page; null if there is none or the request fails. */
async function fetchConfirmation(url, signal) {
  try {
    const response = await fetch(url, { signal });
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    return response.ok ? $(".confirmation", page) : null;
  } catch {
    return null;
  }
}

/** Shows the confirmation of a link's page in a dialog, or follows the link if that fails.
 * Any action of the user in between cancels it. */
export async function openConfirmation(link) {
  const request = (pendingRequest = new AbortController());
  const timeout = setTimeout(() => request.abort(), TIMEOUT);
  setBusy(link);
  const confirmation = await fetchConfirmation(link.href, request.signal);
  setBusy(link, false);
  clearTimeout(timeout);
  if (pendingRequest !== request || $("dialog[open]")) return;
  if (!confirmation) return location.assign(link.href);
  const dialog = $("#confirmation");
  const content = document.createElement("article");
  content.append(confirmation);
  dialog.replaceChildren(content);
  dialog.setAttribute("aria-label", $("h1", confirmation)?.textContent ?? "");
  dialog.showModal();
  $("[data-close]", confirmation)?.focus(); // so that pressing Enter twice deletes nothing
}

/** Asks a question in a dialog, and calls `onYes` when the button with the label is pressed. */
export function ask(question, label, onYes) {
  const dialog = $("#confirmation");
  const content = $("#question").content.cloneNode(true);
  $("h1", content).textContent = question;
  const yes = $(".bad", content);
  yes.textContent = label;
  yes.addEventListener("click", () => {
    dialog.close();
    onYes();
  });
  dialog.replaceChildren(content);
  dialog.setAttribute("aria-label", question);
  dialog.showModal();
  $("[data-close]", dialog).focus();
}

for (const type of ["input", "submit", "pagehide"]) addEventListener(type, cancelConfirmation);

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

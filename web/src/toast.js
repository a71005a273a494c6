// Feedback: short messages, and the busy state of elements that wait for a response.

/** Milliseconds after which a request counts as failed. */
export const TIMEOUT = 20_000;

/** Shows a message at the bottom of the page for `duration` milliseconds; screen readers read it out. */
export function showToast(message, duration = 2500) {
  const toast = document.createElement("div");
  toast.className = "toast";
  toast.textContent = message;
  document.querySelector(".toasts")?.append(toast);
  setTimeout(() => toast.remove(), duration);
}

/** Marks an element as waiting for a response, or no longer. */
export function setBusy(element, isBusy = true) {
  if (isBusy) element.setAttribute("aria-busy", "true");
  else element.removeAttribute("aria-busy");
}

export const isBusy = (element) => element.getAttribute("aria-busy") === "true";

// Feedback: short messages, and the busy state of elements that wait for a response.

/** Milliseconds after which a request counts as failed. */
export const TIMEOUT = 20_000;

/**
 * Shows a message at the bottom of the page for `duration` milliseconds; screen readers read it out.
 * `actions` are buttons, {label, run}, or null; the message stays while the pointer or the focus is on it.
 */
export function showToast(message, duration = 2500, ...actions) {
  const toast = document.createElement("div");
  toast.className = "toast";
  toast.textContent = message;
  toast.append(...actions.filter(Boolean).map((action) => actionButton(toast, action)));
  document.querySelector(".toasts")?.append(toast);
  const close = () => {
    if (toast.matches(":hover, :focus-within")) setTimeout(close, 1000);
    else toast.remove();
  };
  setTimeout(close, duration);
}

function actionButton(toast, { label, run }) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "plain small";
  button.textContent = label;
  button.addEventListener("click", () => {
    toast.remove();
    run();
  });
  return button;
}

/** Marks an element as waiting for a response, or no longer. */
export function setBusy(element, isBusy = true) {
  if (isBusy) element.setAttribute("aria-busy", "true");
  else element.removeAttribute("aria-busy");
}

export const isBusy = (element) => element.getAttribute("aria-busy") === "true";

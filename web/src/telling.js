// What a page tells whoever waits for it.

/** Milliseconds after which nobody has to wait any longer for an answer. */
export const PATIENCE = 20_000;

/** A word at the foot of the page for some milliseconds, read out too. */
export function tell(words, time = 2500) {
  const toast = document.createElement("div");
  toast.className = "toast";
  toast.textContent = words;
  document.querySelector(".toasts")?.append(toast);
  setTimeout(() => toast.remove(), time);
}

/** Shows that something is under way, or no longer. */
export function busy(element, under = true) {
  if (under) element.setAttribute("aria-busy", "true");
  else element.removeAttribute("aria-busy");
}

export const isBusy = (element) => element.getAttribute("aria-busy") === "true";

// Buttons that copy a text.
import { showToast } from "./toast.js";

/** Copies the text of a button, and shows that it was copied. */
export async function copyText(button) {
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
  } catch {
    copyBySelection(button); // the clipboard API needs HTTPS
  }
  const label = button.querySelector("span:not(.visually-hidden)");
  const text = (button.dataset.label ??= label?.textContent ?? "");
  button.classList.add("done");
  if (label) label.textContent = button.dataset.done;
  setTimeout(() => {
    button.classList.remove("done");
    if (label) label.textContent = text;
  }, 2000);
  showToast(button.dataset.done);
}

function copyBySelection(button) {
  const area = document.createElement("textarea");
  area.value = button.dataset.copy;
  (button.closest("dialog") ?? document.body).append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
  button.focus();
}

// Buttons that copy a text.
import { showToast } from "./toast.js";

/** Copies the text of a button and shows that it was copied. */
export async function copyText(button) {
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
  } catch {
    copyBySelection(button); // the clipboard API needs HTTPS
  }
  button.classList.add("done");
  setTimeout(() => button.classList.remove("done"), 2000);
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

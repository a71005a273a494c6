// Buttons that copy a text.
import { $ } from "./dom.js";
import { showToast } from "./toast.js";

/** Copies the text of a button that was pressed, and says whether that worked. */
export async function copyText(button) {
  if (!(await copyAndShow(button))) showToast($(".toasts").dataset.uncopied, 6000);
}

/** Copies the text of a button and shows that it was copied. Returns false if the browser does not allow it. */
export async function copyAndShow(button) {
  if (!(await copy(button))) return false;
  const label = $("span", button);
  const text = (button.dataset.label ??= label.textContent);
  button.classList.add("done");
  label.textContent = button.dataset.done;
  setTimeout(() => {
    button.classList.remove("done");
    label.textContent = text;
  }, 2000);
  showToast(button.dataset.done);
  return true;
}

async function copy(button) {
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
    return true;
  } catch {
    return copyBySelection(button); // the clipboard API needs HTTPS
  }
}

function copyBySelection(button) {
  const area = document.createElement("textarea");
  area.value = button.dataset.copy;
  (button.closest("dialog") ?? document.body).append(area);
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  button.focus();
  return isCopied;
}

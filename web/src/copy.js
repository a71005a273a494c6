// Buttons that copy a text.
import { $ } from "./dom.js";
import { showToast } from "./toast.js";

/** Copies the text of a button that was pressed, and says whether that worked. */
export async function copyText(button) {
  if (!(await writeText(button.dataset.copy, button))) return showToast($(".toasts").dataset.uncopied, 6000);
  const label = $("span", button);
  const text = (button.dataset.label ??= label.textContent);
  button.classList.add("done");
  label.textContent = button.dataset.done;
  setTimeout(() => {
    button.classList.remove("done");
    label.textContent = text;
  }, 2000);
  showToast(button.dataset.done);
}

/** Copies a text, and leaves the focus on a button. Returns false if the browser does not allow it. */
export async function writeText(text, button) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text, button); // the clipboard API needs HTTPS
  }
}

function copyBySelection(text, button) {
  const area = document.createElement("textarea");
  area.value = text;
  (button.closest("dialog") ?? document.body).append(area);
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  button.focus();
  return isCopied;
}

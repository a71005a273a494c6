// Forms: prevents double submits, adds rows, and shows passwords.
// These handle submissions before this module.
import "./dialogs.js";
import "./new_item.js";
import { isBusy, setBusy, TIMEOUT } from "./toast.js";

document.addEventListener("submit", (event) => {
  const { target: form, submitter } = event;
  if (isBusy(form)) event.preventDefault();
  if (event.defaultPrevented || form.method !== "post" || submitter?.matches("[formtarget], [data-download]")) return;
  const pending = [form, submitter].filter(Boolean);
  for (const element of pending) setBusy(element);
  // Submitting is possible again if the page load was stopped or got no response.
  setTimeout(() => pending.forEach((element) => setBusy(element, false)), TIMEOUT);
});

// Addresses of filters have no empty values. Days without the choice of a period would restrict a list.
document.addEventListener("formdata", ({ target: form, formData }) => {
  if (form.method !== "get") return;
  const period = form.querySelector("select[name=period]");
  if (period && period.value !== "days") for (const name of ["from", "to"]) formData.delete(name);
  for (const [name, value] of [...formData]) if (value === "") formData.delete(name);
});

// A page restored from the back/forward cache waits for nothing.
addEventListener("pageshow", ({ persisted }) => {
  if (!persisted) return;
  for (const element of document.querySelectorAll("[aria-busy]")) setBusy(element, false);
});

/** Adds an empty row after the last one of a fieldset. */
export function addRow(fieldset) {
  const last = [...fieldset.querySelectorAll("[data-row]")].at(-1);
  const row = last.matches(".blank") ? last : last.cloneNode(true);
  for (const field of row.querySelectorAll("input")) field.value = "";
  row.classList.remove("blank");
  last.after(row);
  row.querySelector("input").focus();
}

// Fields that were edited before the scripts were loaded, or restored by the browser, fire their events again.
addEventListener("pageshow", () =>
  setTimeout(() => {
    // after htmx, which starts in a task of its own
    for (const field of document.querySelectorAll("main :is(input, textarea)")) {
      if (field.value === field.defaultValue && field.checked === field.defaultChecked) continue;
      for (const type of ["input", "change"]) field.dispatchEvent(new Event(type, { bubbles: true }));
    }
  }),
);

/** Shows the characters of a password, or hides them again. */
export function reveal(button) {
  const isShown = button.getAttribute("aria-pressed") !== "true";
  button.setAttribute("aria-pressed", String(isShown));
  button.parentElement.querySelector("input").type = isShown ? "text" : "password";
}

// Browsers keep the texts of a form that was sent, but not its passwords.
addEventListener("submit", ({ target, defaultPrevented }) => {
  if (defaultPrevented) return;
  for (const button of target.querySelectorAll("[data-reveal][aria-pressed=true]")) reveal(button);
});

document.querySelector("[data-resume]")?.requestSubmit();
(document.querySelector("[data-summary]") ?? document.querySelector("[aria-invalid='true']"))?.focus();

/** Shows the name of the selected file next to the button that selects it. */
function showFileName({ target }) {
  const shown = target.type === "file" && target.closest(".file-row")?.querySelector("[data-file-name]");
  if (!shown) return;
  shown.dataset.none ??= shown.textContent;
  shown.textContent = target.files[0]?.name ?? shown.dataset.none;
}

document.addEventListener("change", showFileName);

for (const target of document.querySelectorAll(".file-row input[type=file]")) showFileName({ target });

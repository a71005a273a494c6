// Keyboard shortcuts, and pasted URLs.
import { cancelConfirmation, openCreateDialog } from "./dialogs.js";
import { $, isEditable } from "./dom.js";

const URL_PATTERN = /^https?:\/\/[^\s]+$/i;

function focusSearch() {
  const field = $("[data-search]");
  if (field) field.focus();
  else location.assign("/dashboard/links#q");
}

const SHORTCUTS = {
  c: () => openCreateDialog(),
  "/": focusSearch,
  "?": () => $("#shortcuts")?.showModal(),
};

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") cancelConfirmation();
  if (event.ctrlKey || event.metaKey || event.altKey || isEditable(event.target) || $("dialog[open]")) return;
  const action = SHORTCUTS[event.key];
  if (!action) return;
  event.preventDefault();
  action();
});

document.addEventListener("paste", (event) => {
  const text = event.clipboardData?.getData("text").trim() ?? "";
  if (isEditable(event.target) || $("dialog[open]") || !URL_PATTERN.test(text)) return;
  event.preventDefault();
  openCreateDialog(text);
});

if (location.hash === "#q") focusSearch();

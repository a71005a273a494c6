// Keyboard shortcuts, and pasted URLs.
import { cancelConfirmation, openCreateDialog } from "./dialogs.js";
import { $, isEditable } from "./dom.js";

const URL_PATTERN = /^https?:\/\/[^\s]+$/i;

function focusSearch() {
  const field = $("[data-search]");
  if (field) field.focus();
  else location.assign("/dashboard/links#q");
}

/** Closes open menus; the focus returns from inside of one to its button. */
function closeMenus() {
  for (const menu of document.querySelectorAll(":is(.dropdown, .bottom-nav details)[open]")) {
    if (menu.contains(document.activeElement)) $("summary", menu).focus();
    menu.open = false;
  }
}

const SHORTCUTS = {
  c: () => openCreateDialog(),
  "/": focusSearch,
  "?": () => $("#shortcuts")?.showModal(),
};

/** Submits the editor that has the focus, or the one of the page. */
function saveEditor(event) {
  if ($("dialog[open]")) return;
  const form = event.target.closest?.("form.editor") ?? $("form.editor");
  if (!form) return;
  event.preventDefault();
  form.requestSubmit();
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    cancelConfirmation();
    closeMenus();
  }
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) saveEditor(event);
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

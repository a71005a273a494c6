// Keyboard shortcuts, and pasted URLs.
import { cancelConfirmation, openCreateDialog } from "./dialogs.js";
import { $, isEditable } from "./dom.js";
import { openPalette } from "./palette.js";
import { pressRowKey } from "./row_keys.js";

const URL_PATTERN = /^https?:\/\/[^\s]+$/i;

function focusSearch() {
  const field = $("[data-search]");
  if (field) field.focus();
  else location.assign("/dashboard/links#q");
}

/** Closes open menus; the focus returns from inside of one to its button. */
function closeMenus() {
  for (const menu of document.querySelectorAll(":is(.dropdown, .language-switch, .bottom-nav details)[open]")) {
    if (menu.contains(document.activeElement)) $("summary", menu).focus();
    menu.open = false;
  }
}

const SHORTCUTS = {
  c: () => openCreateDialog(),
  "/": focusSearch,
  "?": () => $("#shortcuts")?.showModal(),
};

/** Submits the editor that has the focus, or the one of the dialog or the page. */
function saveEditor(event) {
  const form = event.target.closest?.("form.editor") ?? $("form.editor", $("dialog[open]") ?? document);
  if (!form) return;
  event.preventDefault();
  form.requestSubmit();
}

/** Handles a key without modifiers; characters are shortcuts unless the user has turned them off. */
function pressKey(event) {
  const action = document.body.dataset.shortcuts === "off" ? null : SHORTCUTS[event.key];
  if (action) action();
  else if (!pressRowKey(event)) return;
  event.preventDefault();
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    cancelConfirmation();
    closeMenus();
  }
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) saveEditor(event);
  if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey) {
    event.preventDefault();
    openPalette();
  }
  if (event.ctrlKey || event.metaKey || event.altKey || $("dialog[open]")) return;
  if (!isEditable(event.target) || event.target.matches("[type=checkbox]")) pressKey(event);
});

document.addEventListener("paste", (event) => {
  const text = event.clipboardData?.getData("text").trim() ?? "";
  if (isEditable(event.target) || $("dialog[open]") || !URL_PATTERN.test(text)) return;
  event.preventDefault();
  openCreateDialog(text);
});

if (location.hash === "#q") focusSearch();

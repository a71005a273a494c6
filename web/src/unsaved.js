// Unsaved changes of an editor: leaving the page asks first, and a draft of a bio page is kept in the browser.
import { $ } from "./dom.js";
import { TIMEOUT } from "./toast.js";

const SAVE_DELAY = 500; // milliseconds
// Uploads have a guard of their own.
const forms = document.querySelectorAll("form[method=post]:is(.editor:not([enctype]), [data-builder], [data-guarded])");
/** The stored fields of each form. */
const stored = new Map();
/** The form that is being sent; true for the answer to a question, such as whether to delete the item. */
let submitted = null;

/** Returns the fields of a form as text, without those that no person edits, such as a password that the browser knows. */
function content(form) {
  const fields = new FormData(form);
  for (const { name } of form.querySelectorAll("[autocomplete=current-password]")) fields.delete(name);
  for (const name of ["token", "version", "next", "view", "id", "style", "style_name"]) fields.delete(name);
  return new URLSearchParams([...fields].filter(([, value]) => typeof value === "string")).toString();
}

/** A form that was not saved, or a restored draft, comes with values that are not stored. */
const isChanged = (form) =>
  "unsaved" in form.dataset ||
  Boolean($("[data-summary], [aria-invalid=true]", form)) ||
  content(form) !== stored.get(form);

/** Returns the draft of a form; null without one. Storage can be turned off. */
function readDraft(form) {
  try {
    return JSON.parse(localStorage.getItem(form.dataset.draft));
  } catch {
    return null;
  }
}

function writeDraft(form, draft) {
  try {
    if (draft) localStorage.setItem(form.dataset.draft, JSON.stringify(draft));
    else localStorage.removeItem(form.dataset.draft);
  } catch {
    // Without storage there are no drafts.
  }
}

/** Removes the drafts whose submission succeeded: this page shows the result. */
function removeSavedDrafts() {
  try {
    for (const key of Object.keys(localStorage).filter((name) => name.startsWith("draft ")))
      if (JSON.parse(localStorage.getItem(key)).submitted) localStorage.removeItem(key);
  } catch {
    // Without storage there are no drafts.
  }
}

function offerDraft(form) {
  const draft = readDraft(form);
  const offer = $("[data-draft-offer]");
  if (!draft || draft.content === stored.get(form)) return;
  offer.hidden = false;
  $("[data-discard]", offer).addEventListener("click", () => {
    writeDraft(form, null);
    offer.hidden = true;
    $("input:not([type=hidden])", form).focus();
  });
  $("[data-restore]", offer).addEventListener("click", () => restore(form, draft));
}

/** Sends the draft to the server, which shows it in the form without saving it. */
function restore(form, draft) {
  const request = document.createElement("form");
  request.method = "post";
  request.action = form.action;
  const fields = [
    ...new URLSearchParams(draft.content),
    ["version", draft.version],
    ["token", $("[name=token]", form).value],
    ["do", "draft"],
  ];
  for (const [name, value] of fields) {
    const field = document.createElement("textarea"); // keeps line breaks
    [field.name, field.value] = [name, value];
    request.append(field);
  }
  request.hidden = true;
  document.body.append(request);
  request.submit();
}

/** Returns the draft to store for a form. */
const draftOf = (form) => ({ content: content(form), version: $("[name=version]", form)?.value ?? "" });

let timer = 0;
function keepDraft(form) {
  clearTimeout(timer);
  timer = setTimeout(() => writeDraft(form, isChanged(form) ? draftOf(form) : null), SAVE_DELAY);
}

function handleDrafts(form) {
  if ("saved" in form.dataset) removeSavedDrafts();
  if (isChanged(form)) keepDraft(form);
  else offerDraft(form);
  for (const type of ["input", "change", "click"]) form.addEventListener(type, () => keepDraft(form));
}

for (const form of forms) stored.set(form, content(form));
for (const form of forms) if (form.dataset.draft) handleDrafts(form);

// After the other listeners, which can prevent the submission.
addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented || event.submitter?.formTarget) return;
  if (!stored.has(form) && !form.closest("#confirmation")) return;
  submitted = stored.has(form) ? form : true;
  setTimeout(() => (submitted = null), TIMEOUT);
  if (!form.dataset.draft) return;
  clearTimeout(timer);
  writeDraft(form, { ...draftOf(form), submitted: true });
});
addEventListener("pageshow", ({ persisted }) => {
  if (persisted) submitted = null;
});
addEventListener("beforeunload", (event) => {
  const isLost = (form) => form !== submitted && isChanged(form);
  if (submitted !== true && [...forms].some(isLost)) event.preventDefault();
});

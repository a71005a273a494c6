// Unsaved changes of an editor: leaving the page asks first, and a draft of a bio page is kept in the browser.
import { $ } from "./dom.js";
import { TIMEOUT } from "./toast.js";

const SAVE_DELAY = 500; // milliseconds
const form = $("form.editor[method=post]:is(:not([enctype]), [data-builder])"); // uploads have a guard of their own
let stored = "";
let isSubmitted = false;

/** Returns the fields of the form as text, without those that no person edits. */
function content() {
  const fields = new FormData(form);
  for (const name of ["token", "version", "next", "view"]) fields.delete(name);
  return new URLSearchParams([...fields].filter(([, value]) => typeof value === "string")).toString();
}

/** A form that was not saved, or a restored draft, comes with values that are not stored. */
const isChanged = () => "unsaved" in form.dataset || Boolean($("[data-summary]", form)) || content() !== stored;

/** Returns the draft of this form; null without one. Storage can be turned off. */
function readDraft() {
  try {
    return JSON.parse(localStorage.getItem(form.dataset.draft));
  } catch {
    return null;
  }
}

function writeDraft(draft) {
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

function offerDraft() {
  const draft = readDraft();
  const offer = $("[data-draft-offer]");
  if (!draft || draft.content === stored) return;
  offer.hidden = false;
  $("[data-discard]", offer).addEventListener("click", () => {
    writeDraft(null);
    offer.hidden = true;
    $("input:not([type=hidden])", form).focus();
  });
  $("[data-restore]", offer).addEventListener("click", () => restore(draft));
}

/** Sends the draft to the server, which shows it in the form without saving it. */
function restore(draft) {
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

let timer = 0;
function keepDraft() {
  clearTimeout(timer);
  timer = setTimeout(() => {
    const version = $("[name=version]", form)?.value ?? "";
    writeDraft(isChanged() ? { content: content(), version } : null);
  }, SAVE_DELAY);
}

if (form) {
  stored = content();
  if (form.dataset.draft) {
    if ("saved" in form.dataset) removeSavedDrafts();
    if (isChanged()) keepDraft();
    else offerDraft();
    for (const type of ["input", "change", "click"]) form.addEventListener(type, keepDraft);
  }
  // After the other listeners, which can prevent the submission.
  addEventListener("submit", (event) => {
    if (event.defaultPrevented || event.submitter?.formTarget) return;
    if (event.target !== form && !event.target.closest("dialog")) return; // a dialog asks whether to delete the item
    isSubmitted = true;
    setTimeout(() => (isSubmitted = false), TIMEOUT);
    if (event.target !== form) return;
    clearTimeout(timer);
    if (form.dataset.draft) {
      const version = $("[name=version]", form)?.value ?? "";
      writeDraft({ content: content(), version, submitted: true });
    }
  });
  addEventListener("pageshow", ({ persisted }) => {
    if (persisted) isSubmitted = false;
  });
  addEventListener("beforeunload", (event) => {
    if (!isSubmitted && isChanged()) event.preventDefault();
  });
}

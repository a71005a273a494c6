// New items for a list of choices, such as the forms of a bio page: their form is shown in a dialog, and the page with the
// list stays as it is. Without scripts, or if the item needs more than one form, a link opens its page in a new tab.
import { fetchPage } from "./dialogs.js";
import { $ } from "./dom.js";
import { isBusy, setBusy, showToast, TIMEOUT } from "./toast.js";

const dialog = $("#new-item");
const REFERENCES = ["for", "list", "aria-controls", "aria-describedby", "aria-labelledby"];
const SIGN_IN = "/dashboard/signin";
const watched = new Set(); // links whose page was opened in another tab
let opener = null; // the link that opened the dialog
let path = ""; // of the page whose form it shows

/** Opens the form of a link's page, as it was left if it is that of the same link. */
export async function openNewItem(link) {
  if (link.matches("[data-tab]")) return openTab(link);
  if (link === opener && link.href === path) return dialog.showModal();
  if (isBusy(link)) return;
  const part = await fetchPart(link, "main form.editor[method=post], main .nav-cards");
  if ($("dialog[open]")) return;
  if (!part) return openTab(link);
  [opener, path] = [link, link.href];
  $("h2", dialog).textContent = link.textContent;
  dialog.showModal();
  show(part);
}

/** Shows the form of a kind that was chosen in the dialog. */
export async function chooseNewItem(link) {
  const part = await fetchPart(link, "main form.editor[method=post]");
  if (part) show(part);
  else showToast($(".toasts").dataset.failed, 6000);
}

/** Returns the part of a link's page that is shown; null if it has none, or the request fails. */
async function fetchPart(link, selector) {
  setBusy(link);
  const response = await fetchPage(link.href, { signal: AbortSignal.timeout(TIMEOUT) });
  setBusy(link, false);
  return response && $(selector, response.page);
}

/** Shows a part of another page, with ids that differ from those of this page. */
function show(part) {
  for (const button of part.querySelectorAll("[formtarget]")) button.remove(); // previews
  for (const element of part.querySelectorAll("[id]")) element.id = `new-${element.id}`;
  for (const name of REFERENCES) {
    for (const element of part.querySelectorAll(`[${name}]`)) {
      element.setAttribute(name, element.getAttribute(name).replace(/\S+/g, "new-$&"));
    }
  }
  for (const link of part.querySelectorAll('a[href^="#"]')) link.hash = `#new-${link.hash.slice(1)}`;
  $("[data-content]", dialog).replaceChildren(part);
  (
    $("[data-summary], [aria-invalid=true]", part) ?? $(":is(input:not([type=hidden]), textarea, a[href])", part)
  )?.focus();
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!dialog?.contains(form)) return;
  event.preventDefault();
  if (!isBusy(form)) create(form, event.submitter);
});

/** Sends the form. The response is the form with errors, or the page of the new item. */
async function create(form, button) {
  const pending = [form, button].filter(Boolean);
  for (const element of pending) setBusy(element);
  const link = opener;
  const response = await fetchPage(form.action, {
    method: "post",
    body: new URLSearchParams(new FormData(form)),
    redirect: "follow",
    signal: AbortSignal.timeout(TIMEOUT),
  });
  for (const element of pending) setBusy(element, false);
  const isShown = dialog.contains(form); // otherwise the dialog has another form by now
  const isCreated = response?.isRedirected && new URL(response.url).pathname !== SIGN_IN;
  if (isCreated) {
    if (isShown) close();
    if (!(await addItems(link, true))) showToast(dialog.dataset.stale, 6000);
    return;
  }
  if (!response || response.isRedirected || !isShown) return showToast($(".toasts").dataset.failed, 6000);
  const part = $("main form.editor[method=post]", response.page);
  if (part) return show(part);
  // For example the page for signing in, which keeps the fields: another tab shows it.
  form.target = "_blank";
  form.submit();
  dialog.close();
  watchReturn(link);
}

/** Closes the dialog. Its form is not shown again. */
function close() {
  opener = null;
  dialog.close();
}

// Cancel, also without a link back to the choice of a kind. Esc and the cross keep the typed values.
dialog?.addEventListener("click", (event) => {
  if (event.target.closest("form a[data-close]")) opener = null;
});

function openTab(link) {
  open(link.href, "_blank");
  watchReturn(link);
}

/** Adds the item that was created in another tab when the user returns to this one. */
function watchReturn(link) {
  if (watched.has(link)) return;
  watched.add(link);
  document.addEventListener("visibilitychange", async function update() {
    if (document.hidden || !(await addItems(link))) return;
    watched.delete(link);
    document.removeEventListener("visibilitychange", update);
  });
}

/** Adds new items to all lists of their kind on this page, and selects the first in that of the link. Returns whether
 * there was one. `runs`: an item that is an action on selected rows runs. */
async function addItems(link, runs = false) {
  const kind = link.dataset.new;
  const response = await fetchPage(location.href, { signal: AbortSignal.timeout(TIMEOUT) });
  const [fresh] = response ? listsOf(response.page, kind) : [];
  if (!fresh) return false;
  let selected = null;
  for (const list of listsOf(document, kind)) {
    const [item] = merge(list, fresh);
    if (item && link.closest(".field, .popover").contains(list)) selected = item;
  }
  if (selected) select(selected, runs);
  return Boolean(selected);
}

/** Returns the lists of a kind on a page, also those of its templates. */
function listsOf(page, kind) {
  const parts = [page, ...[...page.querySelectorAll("template")].map(({ content }) => content)];
  return parts.flatMap((part) => [...part.querySelectorAll(`[data-items~="${kind}"]`)]);
}

const itemsOf = (list) => [...list.querySelectorAll(list.matches("select") ? "option" : "label, button")];
const controlOf = (item) => item.control ?? item;
const keyOf = (item) => `${controlOf(item).value} ${item.textContent}`;

/** Adds the items that a list lacks, in their order. Returns those. */
function merge(list, fresh) {
  const known = new Map(itemsOf(list).map((item) => [keyOf(item), item]));
  const added = [];
  let next = null;
  for (const item of itemsOf(fresh).reverse()) {
    const same = known.get(keyOf(item));
    const own = same ?? document.importNode(item, true);
    if (!same) {
      added.unshift(own);
      const last = itemsOf(list).at(-1) ?? $("input", list);
      if (next) next.before(own);
      else if (last) last.after(own);
      else list.append(own);
    }
    next = own;
  }
  return added;
}

function select(item, runs) {
  if (item.matches("button")) return runs ? item.click() : item.focus();
  const control = item.matches("option") ? item.closest("select") : item.control;
  if (item.matches("option")) item.selected = true;
  else control.checked = true;
  for (const type of ["input", "change"]) control.dispatchEvent(new Event(type, { bubbles: true }));
  control.focus();
  showToast(dialog.dataset.added.replace("{name}", () => item.textContent.trim()));
}

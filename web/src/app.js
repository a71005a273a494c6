// Progressive enhancement of all dashboard pages: everything also works without scripts.
import { copyText } from "./copy.js";
import { cancelConfirmation, closeOnBackdropClick, openConfirmation, openCreateDialog } from "./dialogs.js";
import "./ages.js";
import "./badges.js";
import "./card.js";
import "./channels.js";
import "./quick.js";
import "./share_address.js"; // before forms.js, which marks sent forms as busy
import { addRow, reveal } from "./forms.js";
import { chooseNewItem, openNewItem } from "./new_item.js";
import "./filters.js";
import "./htmx.js";
import "./menu.js";
import "./offline.js";
import { openPalette } from "./palette.js";
import "./position.js";
import "./color_picker.js";
import "./preview.js";
import "./qr_draft.js";
import "./selection.js";
import { share } from "./share.js";
import "./shortcuts.js";
import "./timezone.js";
import "./utm.js"; // removes names of fields
import "./unsaved.js";
import "./weights.js";

// Rows of tabs and of periods scroll on phones: the current one is put in the middle, without scrolling the page.
for (const tab of document.querySelectorAll(":is(.tabs, .segments) > [aria-current]")) {
  const [own, row] = [tab, tab.parentElement].map((element) => element.getBoundingClientRect());
  if (own.left >= row.left && own.right <= row.right) continue;
  tab.parentElement.scrollBy({ left: own.left + own.width / 2 - row.left - row.width / 2 });
}

/** Actions of clicks, by the selector of the clicked element; the first match wins. */
const CLICK_ACTIONS = [
  { selector: "[data-copy]", run: copyText, isLink: false },
  { selector: "[data-share]", run: share, isLink: true },
  { selector: "[data-add]", run: (button) => addRow(button.closest("[data-rows]")), isLink: false },
  { selector: "[data-reveal]", run: reveal, isLink: false },
  { selector: "[data-create]", run: () => openCreateDialog(), isLink: true },
  { selector: "[data-palette]", run: () => openPalette(), isLink: true },
  { selector: "a[data-dialog]", run: openConfirmation, isLink: true },
  { selector: "a[data-new]", run: openNewItem, isLink: true },
  { selector: "#new-item .nav-cards a", run: chooseNewItem, isLink: true },
  { selector: "dialog [data-close]", run: (button) => button.closest("dialog").close(), isLink: true, always: true },
];

document.addEventListener("click", (event) => {
  cancelConfirmation();
  const opensElsewhere = event.ctrlKey || event.metaKey || event.shiftKey || event.button;
  const action = CLICK_ACTIONS.find(
    ({ selector, isLink, always }) => event.target.closest?.(selector) && (!isLink || always || !opensElsewhere),
  );
  if (action) {
    if (action.isLink) event.preventDefault();
    action.run(event.target.closest(action.selector));
  } else closeOnBackdropClick(event);
  // An action of a sheet closes it. On wide screens, its actions are in the row.
  const pressed = event.target.closest?.(
    ":is(.row-sheet, .bulk-sheet, .bulk-menu) :is(a, button:not([popovertarget]))",
  );
  for (const sheet of document.querySelectorAll(":is(.row-sheet, .bulk-sheet, .bulk-menu):popover-open"))
    if (sheet.contains(pressed)) sheet.hidePopover();
  for (const menu of document.querySelectorAll(".dropdown[open], .bottom-nav details[open]")) {
    if (!menu.contains(event.target) || event.target.closest("[data-download]")) menu.open = false;
  }
});

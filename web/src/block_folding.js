// Blocks that are folded until they are opened: their titles, a button for all, and the memory of this browser.
const TITLE_LENGTH = 60; // characters
const TITLE_PARTS = ["title", "text", "network", "alt", "image", "fname", "org"];

/** Opens a block. */
export function open(block) {
  block.querySelector("details").open = true;
}

/** Returns the beginning of the text of a block. */
function titleOf(block) {
  const parts = TITLE_PARTS.map((part) => block.querySelector(`[name$=".${part}"]`)?.value.trim());
  return (parts.find(Boolean) ?? "").slice(0, TITLE_LENGTH);
}

/** Returns whether nothing was entered in a block, which is not saved then: `is_empty` of the server. A block of a type
 * that this version cannot edit is kept as it is. */
function isEmpty(block) {
  const { value: type } = block.querySelector('[name$=".type"]');
  if (!document.querySelector(`[name="do"][value="add-${type}"]`)) return false;
  const fields = block.querySelectorAll(`[name^="${block.id}."]:not([name$=".type"])`);
  return [...fields].every(({ type, checked, value }) => (type === "checkbox" ? !checked : !value.trim()));
}

/** Returns a key that a block has on the next visit too; blocks without an id have their type and text. */
function keyOf(block) {
  const id = block.querySelector('[name$=".id"]').value;
  return id || `${block.querySelector('[name$=".type"]').value} ${titleOf(block)}`;
}

function readOpen(name) {
  try {
    return new Set(JSON.parse(localStorage.getItem(name)));
  } catch {
    return new Set();
  }
}

function writeOpen(name, keys) {
  try {
    if (keys.length) localStorage.setItem(name, JSON.stringify(keys));
    else localStorage.removeItem(name);
  } catch {
    // Without storage, blocks are folded on the next visit.
  }
}

/** Opens the blocks that were open before, besides new ones and those with errors. */
export function connectFolding(form, list) {
  const name = form.dataset.draft.replace("draft", "open");
  const button = form.querySelector("[data-fold]");
  const [foldLabel, openLabel] = [button.textContent, button.dataset.open];
  const details = () => [...list.children].map((block) => block.querySelector("details"));
  const isAnyOpen = () => details().some((element) => element.open);
  const opened = readOpen(name);
  for (const block of list.children) if (opened.has(keyOf(block))) open(block);

  function update() {
    for (const block of list.children) block.querySelector("[data-empty]").hidden = !isEmpty(block);
    button.textContent = isAnyOpen() ? foldLabel : openLabel;
    button.hidden = !list.children.length;
  }
  list.addEventListener(
    "toggle",
    () => {
      writeOpen(
        name,
        [...list.children].filter((block) => block.querySelector("details").open).map((block) => keyOf(block)),
      );
      update();
    },
    true, // this event does not bubble
  );
  list.addEventListener("input", ({ target }) => {
    const block = target.closest("[data-block]");
    block.querySelector("[data-title]").textContent = titleOf(block);
  });
  button.addEventListener("click", () => {
    const isOpen = !isAnyOpen();
    for (const element of details()) element.open = isOpen;
  });
  // A link of the summary of errors, and the search of the browser, lead into folded blocks.
  addEventListener("hashchange", () => {
    const block = document.getElementById(location.hash.slice(1))?.closest("[data-block]");
    if (block) open(block);
  });
  // The browser names the fault of a field only if the field can be seen.
  form.addEventListener(
    "invalid",
    ({ target }) => {
      const fold = target.closest("details");
      if (fold) fold.open = true;
    },
    true, // this event does not bubble
  );
  for (const type of ["input", "change"]) form.addEventListener(type, update);
  update();
}

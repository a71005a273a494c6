// Folded blocks: their titles, a button for all of them, and the memory of this browser.
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

/** Returns a key that a block has on the next visit too; blocks without an id have their type and text. */
function keyOf(block) {
  const id = block.querySelector('[name$=".id"]').value;
  return id || `${block.querySelector('[name$=".type"]').value} ${titleOf(block)}`;
}

function readFolded(name) {
  try {
    return new Set(JSON.parse(localStorage.getItem(name)));
  } catch {
    return new Set();
  }
}

function writeFolded(name, folded) {
  try {
    if (folded.length) localStorage.setItem(name, JSON.stringify(folded));
    else localStorage.removeItem(name);
  } catch {
    // Without storage, blocks are open on the next visit.
  }
}

/** Folds the blocks that were folded before, except for those with errors. */
export function connectFolding(form, list) {
  const name = form.dataset.draft.replace("draft", "folded");
  const button = form.querySelector("[data-fold]");
  const [foldLabel, openLabel] = [button.textContent, button.dataset.open];
  const details = () => [...list.children].map((block) => block.querySelector("details"));
  const isAnyOpen = () => details().some((element) => element.open);
  const folded = readFolded(name);
  for (const block of list.children)
    if (folded.has(keyOf(block)) && !block.classList.contains("invalid")) block.querySelector("details").open = false;

  function update() {
    button.textContent = isAnyOpen() ? foldLabel : openLabel;
    button.hidden = !list.children.length;
  }
  list.addEventListener(
    "toggle",
    () => {
      writeFolded(
        name,
        [...list.children].filter((block) => !block.querySelector("details").open).map((block) => keyOf(block)),
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
  form.addEventListener("change", update);
  update();
}

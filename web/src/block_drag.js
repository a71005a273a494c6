// Moves blocks by dragging their handle, with a mouse or a finger, in addition to the buttons.
const EDGE = 90; // pixels from the edge of the window in which it scrolls
const SPEED = 0.25; // pixels per frame and pixel of the way into the edge

/** Calls `onMoved` after a block of the list was moved. Escape puts it back. */
export function connectDragging(list, onMoved) {
  let drag = null;

  /** Moves the block to a position. The others are moved around it, so that it keeps the pointer. */
  function moveTo(position) {
    const items = [...list.children];
    const current = items.indexOf(drag.block);
    if (position < current) drag.block.after(...items.slice(position, current));
    else drag.block.before(...items.slice(current + 1, position + 1));
  }

  /** Puts the block where the pointer is. */
  function follow() {
    const others = [...list.children].filter((item) => item !== drag.block);
    const position = others.findIndex((other) => {
      const { top, height } = other.getBoundingClientRect();
      return drag.y < top + height / 2;
    });
    moveTo(position < 0 ? others.length : position);
  }

  /** Scrolls while the pointer is near the upper or lower edge. */
  function scroll() {
    if (!drag) return;
    const [above, below] = [Math.max(0, EDGE - drag.y), Math.max(0, drag.y - (innerHeight - EDGE))];
    if (drag.isMoved && (above || below)) {
      scrollBy(0, (below - above) * SPEED);
      follow();
    }
    requestAnimationFrame(scroll);
  }

  function end(isKept) {
    if (!drag) return;
    if (!isKept) moveTo(drag.start);
    const { block, start } = drag;
    block.classList.remove("dragging");
    drag = null;
    if ([...list.children].indexOf(block) !== start) onMoved();
  }

  list.addEventListener("pointerdown", (event) => {
    const handle = event.target.closest("[data-grip]");
    if (!handle || event.button !== 0) return;
    event.preventDefault(); // no selection of text
    const block = handle.closest("[data-block]");
    const start = [...list.children].indexOf(block);
    drag = { block, start, pointer: event.pointerId, y: event.clientY, isMoved: false };
    handle.setPointerCapture(event.pointerId);
    block.classList.add("dragging");
    requestAnimationFrame(scroll);
  });
  list.addEventListener("pointermove", (event) => {
    if (!drag || event.pointerId !== drag.pointer) return;
    Object.assign(drag, { y: event.clientY, isMoved: true });
    follow();
  });
  list.addEventListener("pointerup", () => end(true));
  list.addEventListener("pointercancel", () => end(false));
  document.addEventListener("keydown", ({ key }) => {
    if (key === "Escape") end(false);
  });
}

"""Layout checks of a page in a browser: nothing wider than the screen, no text outside its own box."""

from collections.abc import Sequence

from playwright.sync_api import Page

WIDTHS = (320, 390, 768, 1280, 1920)
_ATTEMPTS = 200  # of 50 ms each
_NEXT_FRAMES = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"

# The texts outside a box around them, up to the first that scrolls, ends with an ellipsis or is positioned on its own.
# Glyphs at the end of a line may exceed a box by a pixel. A box for screen readers only is clipped.
_OVERFLOWING = """() => {
  const range = document.createRange()
  const leaves = (text, box) => text.left < box.left - 2 || text.right > box.right + 2
  const boxLeft = (node) => {
    range.selectNodeContents(node)
    const text = range.getBoundingClientRect()
    for (let box = node.parentElement; text.width && box !== document.body; box = box.parentElement) {
      const style = getComputedStyle(box)
      if (["inline", "contents"].includes(style.display)) continue
      if (style.clipPath !== "none" || style.textOverflow === "ellipsis") return
      if (["auto", "scroll"].includes(style.overflowX) || ["svg", "select", "canvas"].includes(box.localName)) return
      if (leaves(text, box.getBoundingClientRect())) return box
      if (["absolute", "fixed"].includes(style.position)) return
    }
  }
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  const faults = []
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const isShown = node.parentElement.checkVisibility({opacityProperty: true, visibilityProperty: true})
    const box = node.data.trim() && isShown && boxLeft(node)
    if (box) faults.push(`${box.localName}.${box.className}: ${node.data.trim().slice(0, 60)}`)
  }
  return faults
}"""


# Words of heads and buttons that continue on the next line, without a hyphen.
_BROKEN_WORDS = """() => {
  const range = document.createRange()
  const isBroken = (node, word) => {
    range.setStart(node, word.index)
    range.setEnd(node, word.index + word[0].length)
    return new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size > 1
  }
  const faults = []
  for (const box of document.querySelectorAll("th, button, a.button, .tabs a, legend, summary > span")) {
    if (!box.checkVisibility({opacityProperty: true, visibilityProperty: true})) continue
    const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT)
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const word = [...node.data.matchAll(/\\p{L}+/gu)].find((word) => isBroken(node, word))
      if (word) faults.push(`${box.localName}.${box.className} breaks ${word[0]}`)
    }
  }
  return faults
}"""


# Numbers and actions that leave the content box of their cell, unless they are positioned on their own, and short URLs
# that are cut: their alias is at the end.
_OUTSIDE_CELLS = """() => {
  const range = document.createRange()
  const box = (node) => (range.selectNode(node), node.localName ? node : range).getBoundingClientRect()
  const shown = (selector) => [...document.querySelectorAll(selector)].filter((element) => element.checkVisibility())
  const leaves = (cell) => {
    const {left, right} = cell.getBoundingClientRect(), {paddingLeft, paddingRight} = getComputedStyle(cell)
    const isPlaced = (node) => node.localName && getComputedStyle(node).position === "absolute"
    const boxes = [...cell.childNodes]
      .filter((node) => (node.localName || node.data.trim()) && !isPlaced(node))
      .map(box)
    const isOutside = (inner) =>
      inner.left < left + parseFloat(paddingLeft) - 1 || inner.right > right - parseFloat(paddingRight) + 1
    return boxes.some((inner) => inner.width && isOutside(inner))
  }
  const cells = shown(".resource-table td:is(.num, .row-actions)").filter(leaves)
  const cut = shown(".short-url a").filter((link) => link.scrollWidth > link.clientWidth + 1)
  return [...cells, ...cut].map((element) => `outside ${element.className || "short URL"}: ${element.innerText.trim()}`)
}"""


# Elements whose box stays on its side when the direction of the page changes. Text keeps its own direction, so only
# boxes are compared; those inside a part with a fixed direction are left out.
_NOT_MIRRORED = """() => {
  const root = document.documentElement
  const fixed = "svg, canvas, .canvas, [dir], [data-at], table.heat-map, select, datalist, .short-url a > span"
  const elements = []
  const collect = (parent) => {
    for (const element of parent.children) {
      if (element.matches(fixed)) continue
      const {display} = getComputedStyle(element)
      if (display === "none") continue
      if (!display.startsWith("inline") && element.checkVisibility()) elements.push(element)
      collect(element)
    }
  }
  collect(document.body)
  const boxes = () => {
    const {left, right} = document.body.getBoundingClientRect() // without the scroll bar, which changes its side
    return elements.map((element) => {
      const box = element.getBoundingClientRect()
      return {left: box.left - left, right: right - box.right, width: box.width}
    })
  }
  const direction = root.dir
  const before = boxes()
  root.dir = direction === "rtl" ? "ltr" : "rtl"
  const after = boxes()
  root.dir = direction
  return elements.flatMap((element, index) => {
    const distance = before[index].left - after[index].right
    if (!before[index].width || Math.abs(distance) <= 2) return []
    return [`${element.localName}.${element.className} is ${Math.round(distance)} px off`]
  })
}"""


# One call for all checks: each call costs the driver and the browser as much as the check of a small page.
_FAULTS = f"""() => [
  ...(document.documentElement.scrollWidth > innerWidth ? ["wider than the screen"] : []),
  ...({_OVERFLOWING})(), ...({_BROKEN_WORDS})(), ...({_OUTSIDE_CELLS})(),
]"""


def mirror_faults(page: Page) -> list[str]:
    """Return the elements that are not mirrored when the direction of the page changes; it is as before then."""
    faults: list[str] = page.evaluate(_NOT_MIRRORED)
    return faults


def layout_faults(page: Page) -> list[str]:
    """Return the elements whose text leaves their box or breaks a word, and whether the page scrolls sideways."""
    faults: list[str] = page.evaluate(_FAULTS)
    return faults


def faults_by_width(page: Page, widths: Sequence[int] = WIDTHS) -> dict[int, list[str]]:
    """Return the layout faults of a page at each width. A chart follows the width of the screen a moment later."""
    has_chart = page.evaluate("document.querySelector('canvas') !== null")
    faults = {}
    for width in widths:
        page.set_viewport_size({"width": width, "height": 800})
        if has_chart:
            page.evaluate(_NEXT_FRAMES)
        faults[width] = layout_faults(page)
        for _ in range(_ATTEMPTS if faults[width] else 0):
            page.wait_for_timeout(50)
            if not (current := layout_faults(page)):
                del faults[width]
                break
            faults[width] = current
    return {width: faults_of_width for width, faults_of_width in faults.items() if faults_of_width}


def check_layout(page: Page, path: str, widths: Sequence[int] = WIDTHS) -> None:
    """Fail if a page has layout faults at a width."""
    faults = faults_by_width(page, widths)
    assert faults == {}, (path, faults)

"""Touch targets of a page: buttons, links that stand alone, fields and summaries with less than 44 px.

Links in the rows of lists need 24 px (WCAG 2.5.8): with 44 px for each of them, a screen would show one or two rows.
"""

from playwright.sync_api import Page

# Links in running text are exempt (WCAG 2.5.5), and so are targets whose label or row can be touched instead.
_SMALL = """() => {
  const inRows = ":is(td, dd, .list, .subtitle, .short-url) a:not(.button, .icon-button)";
  const least = (element) => (element.matches(inRows) ? 24 : 44) - 0.5;
  const targets = "a[href], button, input:not([type=hidden]), select, textarea, summary";
  const isInText = (element) => {
    if (element.localName !== "a" || getComputedStyle(element).display !== "inline") return false;
    const siblings = [...element.parentElement.childNodes].filter((node) => node !== element);
    return siblings.some((node) => node.nodeType === Node.TEXT_NODE && /\\p{L}{2}/u.test(node.data));
  };
  // The box that reacts: with what a pseudo-element adds, or the label of a field.
  const boxes = (element) => {
    const box = element.getBoundingClientRect(), style = getComputedStyle(element, "::after");
    const boxes = [box, ...[...(element.labels ?? [])].map((label) => label.getBoundingClientRect())];
    if (style.content !== "none" && style.position === "absolute") {
      const [top, bottom, left, right] = ["top", "bottom", "left", "right"].map((side) => parseFloat(style[side]) || 0);
      boxes.push({width: box.width - left - right, height: box.height - top - bottom});
    }
    return boxes;
  };
  const isLarge = (element) =>
    boxes(element).some(({width, height}) => width >= least(element) && height >= least(element));
  const isShown = (element) => {
    const {width, height} = element.getBoundingClientRect();
    const shown = element.checkVisibility({opacityProperty: true, visibilityProperty: true});
    // A country on the map is in the list of countries too.
    const isOther = element.closest("[aria-hidden=true], .visually-hidden, svg");
    return shown && width > 2 && height > 2 && !isOther;
  };
  const small = [...document.querySelectorAll(targets)].filter(
    (element) => isShown(element) && !isInText(element) && !isLarge(element),
  );
  return small.map((element) => {
    const {width, height} = element.getBoundingClientRect();
    const parent = element.parentElement;
    const name = `${parent.localName}.${parent.className} > ${element.localName}.${element.className}`;
    return `${name} ${element.innerText?.trim().slice(0, 20)} is ${Math.round(width)} x ${Math.round(height)}`;
  });
}"""


def small_targets(page: Page) -> list[str]:
    """Return the targets that are too small, with their sizes in px."""
    faults: list[str] = page.evaluate(_SMALL)
    return faults


def tall_rows(page: Page, *, most: int, most_with_tags: int) -> list[float]:
    """Return the heights of the rows of a list that are too tall, in px; tags of a row can need lines of their own."""
    rows = page.locator("main :is(.resource-table tbody tr, .list > li)").locator("visible=true")
    heights: list[tuple[float, bool]] = rows.evaluate_all(
        "rows => rows.map(row => [row.getBoundingClientRect().height, row.querySelector('.tags') !== null])"
    )
    return [height for height, has_tags in heights if height > (most_with_tags if has_tags else most)]

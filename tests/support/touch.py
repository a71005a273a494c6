"""Controls of a page that a finger cannot hit: too small, or on each other; and tall rows of lists."""

from playwright.sync_api import Page

# The controls that are shown. Links in running text are exempt (WCAG 2.5.8). A country of the map is in a list, too.
_CONTROLS = """
  const targets = "a[href], button, input:not([type=hidden]), select, textarea, summary";
  const isInText = (element) => {
    if (element.localName !== "a" || getComputedStyle(element).display !== "inline") return false;
    const siblings = [...element.parentElement.childNodes].filter((node) => node !== element);
    return siblings.some((node) => node.nodeType === Node.TEXT_NODE && /\\p{L}{2}/u.test(node.data));
  };
  const isShown = (element) => {
    const {width, height, bottom} = element.getBoundingClientRect();
    const isInside = width > 2 && height > 2 && bottom + scrollY > 0;
    const shown = element.checkVisibility({opacityProperty: true, visibilityProperty: true});
    return shown && isInside && !element.closest("[aria-hidden=true], .visually-hidden, svg, :disabled");
  };
  const describe = (element) => {
    const {width, height} = element.getBoundingClientRect();
    const parent = element.parentElement;
    const name = `${parent.localName}.${parent.className} > ${element.localName}.${element.className}`;
    return `${name} ${element.innerText?.trim().slice(0, 20)} of ${Math.round(width)} x ${Math.round(height)}`;
  };
  const controls = [...document.querySelectorAll(targets)].filter((element) => isShown(element) && !isInText(element));
"""
# A finger of 24 px (WCAG 2.5.8), whose middle is that of the control, hits the control, a part of it or its label.
_SMALL = f"""() => {{
  {_CONTROLS}
  const reach = 12 - 0.5;
  const points = [[0, 0], [-reach, 0], [reach, 0], [0, -reach], [0, reach]];
  const isHit = (element, x, y) => {{
    const hit = document.elementFromPoint(x, y);
    if (!hit) return false;
    // An open menu covers the page, so that pressing anything else closes it.
    if (hit.matches(".dropdown[open] > summary")) return true;
    if (hit.closest(".popover") && !hit.closest(".popover").contains(element)) return true;
    return element.contains(hit) || [...(element.labels ?? [])].some((label) => label.contains(hit));
  }};
  // A link can have a box for each line, and an empty one around a picture.
  const area = ({{width, height}}) => width * height;
  const largestBox = (element) => [...element.getClientRects()].sort((a, b) => area(b) - area(a))[0];
  const isLarge = (element) => {{
    element.scrollIntoView({{block: "center", inline: "center", behavior: "instant"}});
    const boxes = [element, ...(element.labels ?? [])].map(largestBox).filter(Boolean);
    return boxes.some(({{left, top, width, height}}) =>
      points.every(([x, y]) => isHit(element, left + width / 2 + x, top + height / 2 + y)));
  }};
  const [left, top] = [scrollX, scrollY];
  const small = controls.filter((element) => !isLarge(element)).map((element) => "small: " + describe(element));
  scrollTo(left, top);
  return small;
}}"""
# Controls whose boxes intersect without one containing the other, such as two buttons at the same place. Those of bars
# that stay on the screen lie on what scrolls below them, and the button of a password is in its field.
_ON_EACH_OTHER = f"""(within) => {{
  {_CONTROLS}
  const sheet = within ? document.querySelector(within) : null;
  const sticks = (element) => {{
    if (sheet) return !sheet.contains(element);
    for (let one = element; one; one = one.parentElement)
      if (["fixed", "sticky"].includes(getComputedStyle(one).position)) return true;
    return false;
  }};
  const placed = controls.filter((element) => !sticks(element) && !element.matches(".password-input > button"));
  // The part of a box that is not scrolled out of sight.
  const shownBox = (element) => {{
    let {{left, top, right, bottom}} = element.getBoundingClientRect();
    for (let one = element.parentElement; one !== document.documentElement; one = one.parentElement) {{
      if (getComputedStyle(one).overflowX === "visible") continue;
      const outer = one.getBoundingClientRect();
      [left, right] = [Math.max(left, outer.left), Math.min(right, outer.right)];
      [top, bottom] = [Math.max(top, outer.top), Math.min(bottom, outer.bottom)];
    }}
    return {{left, top, right, bottom}};
  }};
  const boxes = new Map(placed.map((element) => [element, shownBox(element)]));
  const common = (a, b, start, end) => Math.min(a[end], b[end]) - Math.max(a[start], b[start]);
  const isAbove = (a, b) => common(a, b, "left", "right") > 1 && common(a, b, "top", "bottom") > 1;
  const sorted = [...boxes].sort(([, a], [, b]) => a.top - b.top);
  const faults = [];
  sorted.forEach(([one, box], index) => {{
    for (const [other, below] of sorted.slice(index + 1)) {{
      if (below.top >= box.bottom) break;
      const isNested = one.contains(other) || other.contains(one);
      if (!isNested && isAbove(box, below)) faults.push(`${{describe(one)}} lies on ${{describe(other)}}`);
    }}
  }});
  return faults;
}}"""


# Fields whose text is smaller than 16 px: Safari on phones zooms into them.
_ZOOMING = f"""() => {{
  {_CONTROLS}
  const typed = "input:not([type=checkbox], [type=radio], [type=range], [type=file], [type=color]), select, textarea";
  const fields = controls.filter((element) => element.matches(typed));
  return fields.filter((field) => parseFloat(getComputedStyle(field).fontSize) < 16).map(describe);
}}"""


def zooming_fields(page: Page) -> list[str]:
    """Return the fields that a browser of phones enlarges with the whole page while they have the focus."""
    faults: list[str] = page.evaluate(_ZOOMING)
    return faults


def small_targets(page: Page) -> list[str]:
    """Return the controls that a finger of 24 px does not hit with its whole width, with their sizes in px."""
    faults: list[str] = page.evaluate(_SMALL)
    return faults


def controls_on_each_other(page: Page, *, within: str = "") -> list[str]:
    """Return the pairs of controls whose boxes intersect: of the page, or of the sheet `within`."""
    faults: list[str] = page.evaluate(_ON_EACH_OTHER, within)
    return faults


def tall_rows(page: Page, *, most: int) -> list[float]:
    """Return the heights of the rows of a list that are taller than `most`, in px."""
    rows = page.locator("main :is(.resource-table tbody tr, .list > li)").locator("visible=true")
    heights: list[float] = rows.evaluate_all("rows => rows.map(row => row.getBoundingClientRect().height)")
    return [height for height in heights if height > most]

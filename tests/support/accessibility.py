"""Accessibility checks of a page by axe-core, which the front end's build installs in `web/node_modules`."""

from functools import cache
from pathlib import Path
from typing import Literal

from playwright.sync_api import Page

_AXE = Path(__file__).resolve().parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"

Violation = tuple[str, str, list[str]]
"""(rule, impact, elements)"""
_FINISH_TRANSITIONS = """document.getAnimations().filter(animation => animation instanceof CSSTransition)
  .forEach(transition => transition.finish())"""
# Targets that can be too small: with less than 24 px, or where another one covers a part. All others pass the rule. It
# takes as long as all other rules together if it compares each target with the elements around it.
_MARK_TARGETS = """() => {
  const focusable = "a[href], area[href], button, input, select, textarea, summary, iframe, audio, video"
  const targets = [...document.querySelectorAll(`${focusable}, [tabindex], [contenteditable]`)]
    .map((element) => ({element, box: element.getBoundingClientRect()}))
    .filter(({box}) => box.width && box.height)
  const overlap = (one, other) =>
    one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom
  const isSuspect = ({element, box}) => box.width < 25 || box.height < 25 ||
    targets.some((other) => other.element !== element && overlap(box, other.box))
  document.querySelectorAll("[data-suspect]").forEach((element) => element.removeAttribute("data-suspect"))
  targets.filter(isSuspect).forEach(({element}) => element.setAttribute("data-suspect", ""))
}"""
_VIOLATIONS = """violations.map(({id, impact, nodes}) =>
  [id, impact, nodes.slice(0, 3).map((node) => node.html.slice(0, 150))])"""
# Only violations, and no selectors: computing and transferring the complete result takes longer than the checks.
# Colors are checked on their own.
_RUN = f"""async () => {{
  ({_MARK_TARGETS})()
  const [on, off] = [{{enabled: true}}, {{enabled: false}}]
  const rules = {{"target-size": on, "color-contrast": off, "link-in-text-block": off}}
  const {{violations}} = await axe.run({{resultTypes: ["violations"], selectors: false, rules}})
  return {_VIOLATIONS}
}}"""

# Remembers the elements that are shown now.
_REMEMBER = """() => {
  window.checkedElements = new Set([...document.querySelectorAll("*")].filter((one) => one.checkVisibility()))
}"""
# Rules about the page as a whole, and about places on the screen: they depend on the width.
_RULES_OF_WIDTHS = (
    *("target-size", "scrollable-region-focusable", "region", "bypass", "skip-link", "heading-order"),
    *("page-has-heading-one", "landmark-one-main", "landmark-unique", "landmark-main-is-top-level"),
    *("landmark-no-duplicate-main", "landmark-no-duplicate-banner", "landmark-no-duplicate-contentinfo"),
    *("landmark-banner-is-top-level", "landmark-contentinfo-is-top-level", "landmark-complementary-is-top-level"),
)
# Checks the rules that depend on the width, and all rules of elements that were not shown before, once for each HTML.
_RUN_SHOWN = f"""async ([values, known]) => {{
  ({_MARK_TARGETS})()
  const options = {{resultTypes: ["violations"], selectors: false}}
  const {{violations}} = await axe.run({{...options, runOnly: {{type: "rule", values}}}})
  const isNew = (element) => !window.checkedElements.has(element) && element.checkVisibility()
  const shown = [...document.body.querySelectorAll("*")].filter(isNew)
  const roots = shown.filter((element) => !isNew(element.parentElement) && !known.includes(element.outerHTML))
  if (roots.length) {{
    const off = {{enabled: false}}
    const rules = {{"color-contrast": off, "link-in-text-block": off}}
    violations.push(...(await axe.run({{include: roots}}, {{...options, rules}})).violations)
  }}
  return [{_VIOLATIONS}, violations.length ? [] : roots.map(({{outerHTML}}) => outerHTML)]
}}"""

# Grounds that axe-core cannot compute: the icons of fields, the shadows of a menu that scrolls, the sky of a bio, and
# the page under the bar at the bottom, which hides 92 % of it.
_FLAT = """html, body, select, input, .sidebar { background-image: none !important }
  .bottom-nav { background: var(--card) !important }"""

# Stores the elements of each way in which a shown text looks: all that decides its colors, from the page to the text,
# and the width of the screen. A link inside a text is compared with it too. Returns the hashes of these ways.
_FIND_TEXTS = """flat => {
  if (!window.flatGround) {
    window.flatGround = new CSSStyleSheet()
    window.flatGround.replaceSync(flat)
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, window.flatGround]
  }
  const looks = new Map()
  const hash = (text) => {
    let [first, second] = [0xdeadbeef, 0x41c6ce57]
    for (let i = 0; i < text.length; i++) {
      first = Math.imul(first ^ text.charCodeAt(i), 2654435761)
      second = Math.imul(second ^ text.charCodeAt(i), 1597334677)
    }
    return `${(first >>> 0).toString(36)}-${(second >>> 0).toString(36)}`
  }
  const look = (element) => {
    if (!element) return `${innerWidth}`
    if (!looks.has(element)) {
      const style = getComputedStyle(element)
      const names = ["color", "backgroundColor", "backgroundImage", "opacity", "filter", "mixBlendMode", "fontSize",
        "fontWeight", "fontFamily", "textShadow", "textDecorationLine", "borderBottomStyle", "position", "display"]
      const name = `${element.localName}.${element.className?.baseVal ?? element.className}`
      const own = [name, ...names.map((property) => style[property])]
      looks.set(element, hash([look(element.parentElement), ...own].join("|")))
    }
    return looks.get(element)
  }
  const hasText = (element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim())
  const textless = ["hidden", "checkbox", "radio", "color", "range"].map((type) => `[type=${type}]`).join()
  const isShown = (element) => {
    const {right, bottom} = element.getBoundingClientRect() // a skip link is above the page until it has the focus
    const isOnPage = right > 0 && bottom + scrollY > 0
    return isOnPage && element.checkVisibility({opacityProperty: true, visibilityProperty: true})
  }
  const isOff = (element) => element.closest(":disabled, [aria-disabled=true], svg, .visually-hidden")
  const isShort = (element) => [...element.textContent.trim()].length === 1 // which axe-core does not judge
  const isInText = (element) => {
    let block = element.matches("a[href]") && element
    while (block && getComputedStyle(block).display.startsWith("inline")) block = block.parentElement
    if (!block || block === element) return false
    const links = [...block.querySelectorAll("a[href]")].map((link) => link.textContent.trim().length)
    return block.textContent.trim().length > links.reduce((sum, length) => sum + length, 0)
  }
  window.textsOfLooks = new Map()
  for (const element of document.body.querySelectorAll("*")) {
    const isText = element.matches(`input:not(${textless}), textarea, select`) || hasText(element)
    if (!isText || !isShown(element) || isOff(element) || isShort(element)) continue
    const own = isInText(element) ? `${look(element)} in a text` : look(element)
    window.textsOfLooks.set(own, [...(window.textsOfLooks.get(own) ?? []), element])
  }
  return [...window.textsOfLooks.keys()]
}"""

# Checks the colors of new looks. Returns the looks that passed, and the faults: a ground that is no flat color is one.
_RUN_COLORS = """async (looks) => {
  const include = looks.flatMap((look) => window.textsOfLooks.get(look))
  const values = ["color-contrast", "link-in-text-block"]
  const options = {elementRef: true, selectors: false, runOnly: {type: "rule", values}}
  const result = include.length ? await axe.run({include}, options) : {passes: [], violations: [], incomplete: []}
  document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => sheet !== window.flatGround)
  delete window.flatGround
  const isContrast = ({id}) => id === "color-contrast"
  const elements = (rules) => new Set(rules.flatMap(({nodes}) => nodes.map(({element}) => element)))
  const passed = elements(result.passes.filter(isContrast))
  const passedLinks = elements(result.passes.filter((rule) => !isContrast(rule)))
  const isUnclear = ({any}) => any.some(({data}) => ["bgGradient", "bgImage"].includes(data?.messageKey))
  const unclear = result.incomplete.filter(isContrast).map((rule) => ({...rule, nodes: rule.nodes.filter(isUnclear)}))
  const faults = [...result.violations, ...unclear.filter(({nodes}) => nodes.length)]
  const hasPassed = (look) =>
    window.textsOfLooks.get(look).every((text) => passed.has(text) && (passedLinks.has(text) || !look.endsWith("text")))
  return [looks.filter(hasPassed), faults.map(({id, impact, nodes}) =>
    [id, impact, nodes.slice(0, 3).map((node) => `${node.html.slice(0, 150)} ${node.any[0]?.message ?? ""}`)])]
}"""
_DEFINE = """() => {
  if (!window.axe) window.defineAxe?.()
  window.axe?.configure({rules: [{id: "target-size", selector: "[data-suspect]"}]})
  return Boolean(window.axe)
}"""
_passed: set[str] = set()
"""The looks of texts whose colors passed in this process."""
_passed_html: set[str] = set()
"""The HTML of elements without violations that are shown on small screens only."""


def faults(page: Page) -> list[Violation]:
    """Return the violations on a page."""
    _load(page)
    violations = page.evaluate(_RUN)
    return [*((rule, impact, elements) for rule, impact, elements in violations), *_text_faults(page)]


def remember_shown(page: Page) -> None:
    """Remember which elements are shown, for `faults_of_small_screen`."""
    page.evaluate(_REMEMBER)


def faults_of_small_screen(page: Page) -> list[Violation]:
    """Return the violations of a page that passed on a wide screen: of the width, and of elements that are new."""
    _load(page)
    violations, passed = page.evaluate(_RUN_SHOWN, [_RULES_OF_WIDTHS, list(_passed_html)])
    _passed_html.update(passed)
    return [*((rule, impact, elements) for rule, impact, elements in violations), *_text_faults(page)]


def color_faults(page: Page) -> list[Violation]:
    """Return the texts with too little contrast, and the links that have the color of the text around them."""
    _load(page)
    return _text_faults(page)


def _text_faults(page: Page) -> list[Violation]:
    """Return the texts with too little contrast. A look that passed on another page is not checked again."""
    new = [look for look in page.evaluate(_FIND_TEXTS, _FLAT) if look not in _passed]
    passed, violations = page.evaluate(_RUN_COLORS, new)
    _passed.update(passed)
    return [(rule, impact, elements) for rule, impact, elements in violations]


def faults_by_night(page: Page) -> list[Violation]:
    """Return the contrast violations of the dark theme; other rules do not depend on the theme."""
    show(page, "dark")
    violations = color_faults(page)
    show(page, "light")
    return violations


def show(page: Page, scheme: Literal["light", "dark"]) -> None:
    """Change the color scheme without transitions."""
    page.emulate_media(color_scheme=scheme)
    page.evaluate(_FINISH_TRANSITIONS)


def _load(page: Page) -> None:
    """Define axe-core on a page. Later pages of the tab define it without another transfer of the script."""
    if page.evaluate(_DEFINE):
        return
    page.evaluate(_axe())  # evaluated, because the page's policy forbids other scripts
    page.evaluate(_DEFINE)
    page.add_init_script(f"window.defineAxe = () => {{ {_axe()} }}")


@cache
def _axe() -> str:
    return _AXE.read_text()

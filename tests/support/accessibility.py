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
# Only violations, and no selectors: computing and transferring the complete result takes longer than the checks.
# Contrast is checked on its own.
_RUN = """() => axe.run({resultTypes: ["violations"], selectors: false, rules: {"target-size": {enabled: true},
    "color-contrast": {enabled: false}}})
  .then(result => result.violations.map(violation =>
  [violation.id, violation.impact, violation.nodes.slice(0, 3).map(node => node.html.slice(0, 150))]))"""

# A link inside a text, which depends on the text around it.
_RUN_LINKS = """() => axe.run({resultTypes: ["violations"], selectors: false,
    runOnly: {type: "rule", values: ["link-in-text-block"]}})
  .then(result => result.violations.map(violation =>
  [violation.id, violation.impact, violation.nodes.slice(0, 3).map(node => node.html.slice(0, 150))]))"""

# Grounds that axe-core cannot compute: the icons of fields, the shadows of a menu that scrolls, the sky of a bio, and
# the page under the bar at the bottom, which hides 92 % of it.
_FLAT = """html, body, select, input, .sidebar { background-image: none !important }
  .bottom-nav { background: var(--card) !important }"""

# Stores the elements of each way in which a shown text looks: all that decides its colors, from the page to the text,
# and the width of the screen. Returns the hashes of these ways.
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
        "fontWeight", "textShadow", "textDecorationLine", "position", "display"]
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
  window.textsOfLooks = new Map()
  for (const element of document.body.querySelectorAll("*")) {
    const isText = element.matches(`input:not(${textless}), textarea, select`) || hasText(element)
    if (!isText || !isShown(element) || isOff(element)) continue
    const texts = window.textsOfLooks.get(look(element)) ?? []
    window.textsOfLooks.set(look(element), [...texts, element])
  }
  return [...window.textsOfLooks.keys()]
}"""

# Checks the colors of new looks. Returns the looks that passed, and the faults: a ground that is no flat color is one.
_RUN_COLORS = """async (looks) => {
  const include = looks.flatMap((look) => window.textsOfLooks.get(look))
  const options = {elementRef: true, selectors: false, runOnly: {type: "rule", values: ["color-contrast"]}}
  const result = include.length ? await axe.run({include}, options) : {passes: [], violations: [], incomplete: []}
  document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => sheet !== window.flatGround)
  delete window.flatGround
  const isContrast = ({id}) => id === "color-contrast"
  const passed = new Set(result.passes.filter(isContrast).flatMap(({nodes}) => nodes.map(({element}) => element)))
  const isUnclear = ({any}) => any.some(({data}) => ["bgGradient", "bgImage"].includes(data?.messageKey))
  const unclear = result.incomplete.filter(isContrast).map((rule) => ({...rule, nodes: rule.nodes.filter(isUnclear)}))
  const faults = [...result.violations, ...unclear.filter(({nodes}) => nodes.length)]
  const hasPassed = (look) => window.textsOfLooks.get(look).every((element) => passed.has(element))
  return [looks.filter(hasPassed), faults.map(({id, impact, nodes}) =>
    [id, impact, nodes.slice(0, 3).map((node) => `${node.html.slice(0, 150)} ${node.any[0]?.message ?? ""}`)])]
}"""
_DEFINE = """() => {
  if (!window.axe) window.defineAxe?.()
  return Boolean(window.axe)
}"""
_passed: set[str] = set()
"""The looks of texts whose colors passed in this process."""


def faults(page: Page) -> list[Violation]:
    """Return the violations on a page."""
    _load(page)
    violations = page.evaluate(_RUN)
    return [*((rule, impact, elements) for rule, impact, elements in violations), *_text_faults(page)]


def color_faults(page: Page) -> list[Violation]:
    """Return the texts with too little contrast, and the links that have the color of the text around them."""
    _load(page)
    links = page.evaluate(_RUN_LINKS)
    return [*_text_faults(page), *((rule, impact, elements) for rule, impact, elements in links)]


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
    page.add_init_script(f"window.defineAxe = () => {{ {_axe()} }}")


@cache
def _axe() -> str:
    return _AXE.read_text()

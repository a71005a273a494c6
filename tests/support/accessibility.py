"""Accessibility checks of a page by axe-core, which the front end's build installs in `web/node_modules`."""

from collections.abc import Sequence
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
# One line for each fault: its rule, its impact and the elements, with their first message.
_VIOLATIONS = """faults.map(({id, impact, violations}) => [id, impact, violations.slice(0, 3).map(({node, any}) =>
  `${node.source.slice(0, 150)} ${any[0]?.message ?? ""}`)])"""

# Remembers the elements that are shown now.
_REMEMBER = """() => {
  window.checkedElements = new Set([...document.querySelectorAll("*")].filter((one) => one.checkVisibility()))
}"""
# Rules about the page as a whole, about places on the screen, and about names and children, which can be hidden: they
# depend on the width.
_RULES_OF_WIDTHS = (
    *("target-size", "scrollable-region-focusable", "region", "bypass", "skip-link", "heading-order"),
    *("page-has-heading-one", "landmark-one-main", "landmark-unique", "landmark-main-is-top-level"),
    *("landmark-no-duplicate-main", "landmark-no-duplicate-banner", "landmark-no-duplicate-contentinfo"),
    *("landmark-banner-is-top-level", "landmark-contentinfo-is-top-level", "landmark-complementary-is-top-level"),
    *("link-name", "button-name", "input-button-name", "select-name", "summary-name", "label", "label-title-only"),
    *("aria-command-name", "aria-dialog-name", "aria-input-field-name", "aria-meter-name", "aria-progressbar-name"),
    *("aria-toggle-field-name", "aria-tooltip-name", "aria-treeitem-name", "empty-heading", "empty-table-header"),
    *("role-img-alt", "svg-img-alt", "aria-required-children", "aria-required-parent", "aria-hidden-focus"),
    *("list", "listitem", "definition-list", "dlitem", "nested-interactive"),
)
_COLORS = ("color-contrast", "link-in-text-block")
# Checks all other rules for elements that were not shown before, once for each HTML.
_RUN_SHOWN = f"""async ([checked, known]) => {{
  const isNew = (element) => !window.checkedElements.has(element) && element.checkVisibility()
  const shown = [...document.body.querySelectorAll("*")].filter(isNew)
  const roots = shown.filter((element) => !isNew(element.parentElement) && !known.includes(element.outerHTML))
  if (!roots.length) return [[], []]
  const rules = Object.fromEntries(checked.map((rule) => [rule, {{enabled: false}}]))
  const results = await axe.run({{include: roots}}, {{rules, reporter: (results, options, done) => done(results)}})
  const faults = results.filter(({{violations}}) => violations?.length)
  return [faults.length ? [] : roots.map(({{outerHTML}}) => outerHTML), {_VIOLATIONS}]
}}"""

# Grounds that axe-core cannot compute: the icons of fields, the shadows of a menu that scrolls, the sky of a bio, and
# the page under the bar at the bottom, which hides 92 % of it. The bar with the buttons of a form is moved to its end,
# because the targets below it are scrolled from it.
_FLAT = """html, body, select, input, .sidebar > nav { background-image: none !important }
  .bottom-nav { background: var(--card) !important }
  .actions.sticky { position: static !important }"""

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

# Checks rules, all by default, and the colors of new looks: in one run, because each run computes the places of all
# elements again. Returns the looks that passed, and the faults: a ground that is no flat color is one. The results are
# raw, because computing selectors and transferring the complete result takes longer than the checks.
_RUN = f"""async ([looks, values]) => {{
  ({_MARK_TARGETS})()
  const texts = looks.flatMap((look) => window.textsOfLooks.get(look))
  const colors = texts.length ? ["color-contrast", "link-in-text-block"] : []
  texts.forEach((text) => text.setAttribute("data-new-look", ""))
  const [on, color] = [{{enabled: true}}, {{enabled: colors.length > 0}}]
  const rules = {{"target-size": on, "color-contrast": color, "link-in-text-block": color}}
  const selected = values ? {{runOnly: {{type: "rule", values: [...values, ...colors]}}}} : {{rules}}
  const options = {{...selected, reporter: (results, options, done) => done(results)}}
  const results = values?.length === 0 && !colors.length ? [] : await axe.run(options)
  texts.forEach((text) => text.removeAttribute("data-new-look"))
  document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => sheet !== window.flatGround)
  delete window.flatGround
  const isUnclear = ({{any}}) => any.some(({{data}}) => ["bgGradient", "bgImage"].includes(data?.messageKey))
  const contrast = results.find(({{id}}) => id === "color-contrast")
  const links = results.find(({{id}}) => id === "link-in-text-block")
  const unclear = {{...contrast, violations: contrast?.incomplete?.filter(isUnclear) ?? []}}
  const faults = [...results, unclear].filter(({{violations}}) => violations?.length)
  const elements = (rule) => new Set(rule?.passes?.map(({{node}}) => node.element))
  const [passed, passedLinks] = [elements(contrast), elements(links)]
  const hasPassed = (look) =>
    window.textsOfLooks.get(look).every((text) => passed.has(text) && (passedLinks.has(text) || !look.endsWith("text")))
  return [looks.filter(hasPassed), {_VIOLATIONS}]
}}"""
_DEFINE = """() => {
  if (!window.axe) window.defineAxe?.()
  window.axe?.configure({rules: [
    {id: "target-size", selector: "[data-suspect]"},
    {id: "color-contrast", selector: "[data-new-look]"},
    {id: "link-in-text-block", selector: "a[href][data-new-look]"},
  ]})
  return Boolean(window.axe)
}"""
_passed: set[str] = set()
"""The looks of texts whose colors passed in this process."""
_passed_html: set[str] = set()
"""The HTML of elements without violations that are shown on small screens only."""


def faults(page: Page) -> list[Violation]:
    """Return the violations on a page."""
    return _check(page, None)


def remember_shown(page: Page) -> None:
    """Remember which elements are shown, for `faults_of_small_screen`."""
    page.evaluate(_REMEMBER)


def faults_of_small_screen(page: Page) -> list[Violation]:
    """Return the violations of a page that passed on a wide screen: of the width, and of elements that are new."""
    of_width = _check(page, _RULES_OF_WIDTHS)
    passed, violations = page.evaluate(_RUN_SHOWN, [[*_RULES_OF_WIDTHS, *_COLORS], list(_passed_html)])
    _passed_html.update(passed)
    return [*of_width, *((rule, impact, elements) for rule, impact, elements in violations)]


def color_faults(page: Page) -> list[Violation]:
    """Return the texts with too little contrast, and the links that have the color of the text around them."""
    return _check(page, ())


def _check(page: Page, rules: Sequence[str] | None) -> list[Violation]:
    """Return the violations of rules, all by default, and of colors. A look that passed is not checked again."""
    _load(page)
    new = [look for look in page.evaluate(_FIND_TEXTS, _FLAT) if look not in _passed]
    passed, violations = page.evaluate(_RUN, [new, rules])
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

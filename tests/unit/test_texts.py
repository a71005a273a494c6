"""Texts for people: all translatable, whole sentences, and no words that were replaced by plainer ones."""

import ast
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from tests.support.source import ROOT, SOURCE, modules
from tests.support.template_texts import TRANSLATORS, glued_texts, untranslated_texts

TEMPLATES = sorted(SOURCE.glob("*/templates/**/*.html"))
CATALOGS: dict[str, Any] = runpy.run_path(str(ROOT / "scripts" / "update_messages.py"))
# Names that are the same in every language, and values that are no texts.
NAMES = frozenset(
    "Bearer Bitcoin Cash Dash Dogecoin Instagram Litecoin Mac PNG Python SVG app https login shared waypost".split()
    + "Bluesky Discord Facebook GitHub LinkedIn Mastodon Pinterest Reddit Signal SoundCloud Spotify Teams".split()
    + "Telegram Threads TikTok Twitch Vimeo WhatsApp XING YouTube Desktop Mobile Tablet visitor".split()
)
_SEARCHED = "palette/commands.py"  # joins names of commands with keywords; only the search reads the result
# In lower case, because the prose linter checks the string literals that read as sentences.
REPLACED = (
    *("a long address", "a plain page first", "a star", "add things", "add to the target"),
    *("after so many", "address that you have", "as is usual", "as much as it", "at most clicks", "be measured"),
    *("by chance", "by night", "bytes a file", "clicked most", "code is not right", "comes after", "counts as"),
    *("decided as a visit", "dns is kept", "else its name", "every visit shows", "exact:", "first page leads"),
    *("for everybody", "from anywhere", "goes on after", "how long, how often", "i have kept", "in no public list"),
    *("in turn", "in your time.", "into an app", "is a shelf", "is changed.", "is in force", "it reads well"),
    *("its bytes are removed", "leads to", "let in, keep", "let through", "link leads", "look into your"),
    *("names that do not", "no link like", "nobody", "not exist leads", "not the password"),
    *("nothing here", "nothing in this span", "nothing like that", "on the way", "other targets", "pass answers on"),
    *("rotator led", "runs into another", "second factor", "sends no letters", "short name", "something deleted"),
    *("switch off", "switch on", "switched off", "switched on", "take each back", "take the password", "that did not"),
    *("that there is nothing", "the card when", "the same as a table", "the ticked", "then lead", "there is one."),
    *("those that are decided", "those that wait", "tick the", "visitors will read", "visitors who have it", "what it"),
    *("what should it hold", "what stands", "where from", "where it belongs", "who reads", "with a star"),
    *("with any device", "with the chosen", "would a visitor get", "you go on", "your page is there", "your product"),
)
REPLACED_WHOLE = frozenset(
    "before|by|do it|ground|keep|keys|look|made|make it|may|newest|robots|systems|until".split("|")
)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_template_has_no_untranslated_or_glued_text(path: Path) -> None:
    source = path.read_text()
    words = {word for text in untranslated_texts(source) for word in re.findall(r"[^\W\d_]{2,}", text)}
    assert words - NAMES == set(), 'put the text into _("…")'
    assert glued_texts(source) == [], "make it one text with placeholders"


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_template_has_no_colon_outside_of_a_text(path: Path) -> None:
    assert re.findall(r".*(?:\}\}|>): .*", path.read_text()) == []


def test_no_code_joins_translated_texts() -> None:
    joined = [
        f"{path.relative_to(SOURCE)}:{getattr(node, 'lineno', 0)}: {ast.unparse(node)}"
        for path, tree in modules()
        for node in ast.walk(tree)
        if path.relative_to(SOURCE).as_posix() != _SEARCHED and _joins_translations(node)
    ]
    assert joined == [], "make it one text with placeholders"


def _joins_translations(node: ast.AST) -> bool:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _is_translated(node.left) or _is_translated(node.right)
    return isinstance(node, ast.JoinedStr) and any(_is_translated(part) for part in ast.walk(node))


def _is_translated(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in TRANSLATORS


@pytest.mark.parametrize("text", ['gettext("a") + name', 'f"{name}: {ngettext(a, b, 1)}"'])
def test_joined_translation_is_found(text: str) -> None:
    assert any(_joins_translations(node) for node in ast.walk(ast.parse(text)))
    assert not any(_joins_translations(node) for node in ast.walk(ast.parse('gettext("a", name=1 + 2)')))


@pytest.mark.parametrize(
    "template",
    [
        "<p>Some text</p>",
        '<input placeholder="Some text">',
        '<a {% if x %}title="Some text"{% endif %}>',
        '{{ "Some text" if x else "" }}',
        '{{ forms.field(form, "name", "Some text") }}',
        '{% set label = "Some text" %}',
    ],
)
def test_untranslated_text_is_found(template: str) -> None:
    assert untranslated_texts(template) == ["Some text"]
    assert (
        untranslated_texts(template.replace("Some text", "{{ _('Some text') }}" if "<" in template else "text")) == []
    )


@pytest.mark.parametrize(
    ("template", "is_glued"),
    [
        ("{{ _('by') }} {{ name }}", True),
        ("{{ count }} {{ _('links') }}", True),
        ("{{ _('a') }} <strong>{{ name }}</strong>", True),
        ("<strong dir='auto'>{{ name }}</strong> {{ _('a') }}", False),
        ("{{ _('a') }}{% if x %} {{ _('b') }}{% endif %}", True),
        ("{{ _('a') ~ name }}", True),
        ("{{ count }} <small>{{ ngettext('link', 'links', count) }}</small>", True),
        ("{{ _('a.') }} {{ _('b.') }}", False),
        ("{{ _('by:') }} {{ name }}", False),
        ("{{ _('a') }}, {{ name }}", False),
        ("<p>{{ _('a') }}</p><p>{{ _('b') }}</p>", False),
        ("{% if x %}{{ _('a') }}{% else %}{{ _('b') }}{% endif %}", False),
        ("{{ _('by %(name)s', name=name) }}", False),
        ("{{ _('by %(name)s', name='%s %s' % (name, number)) }}", True),
        ("{{ _('by %(name)s', name=name ~ number) }}", True),
        ("{{ name }} <span class='tag'>{{ _('a') }}</span>", False),
        ("{{ icon('plus') }} {{ _('a') }}", False),
        ("<a>{{ _('a') }}</a> <a>{{ _('b') }}</a>", False),
        ("<a>{{ _('a') }}</a> {{ _('b') }}", True),
    ],
)
def test_glued_text_is_found(template: str, *, is_glued: bool) -> None:
    assert bool(glued_texts(template)) == is_glued


def test_replaced_words_are_in_no_text() -> None:
    for catalog in (CATALOGS["dashboard_messages"](ROOT), CATALOGS["extracted_messages"](ROOT)):
        ids = [message.id for message in catalog if message.id]
        texts = [text.casefold() for message in ids for text in ([message] if isinstance(message, str) else message)]
        assert len(texts) > 40
        assert [(text, words) for text in texts for words in REPLACED if words in text] == []
        assert REPLACED_WHOLE.intersection(texts) == set()

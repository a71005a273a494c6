"""Messages as sentences for a chat, in the language of the account."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from waypost.audit import names
from waypost.dashboard.i18n import gettext, gettext_noop, ngettext, text_in
from waypost.dashboard.mails import written_in
from waypost.db.schema.nouns import NOUNS
from waypost.webhooks import catalog

Link = Callable[[str, str], str]
"""Returns a link in the syntax of the chat from its text and URL; the text alone without a URL."""
_PAGES = {"share": "/dashboard/shares/{}", "webhook": "/dashboard/webhooks/{}", "import": "/dashboard/import"}
"""The pages of things that are no items."""
_EVENT, _COUNT = gettext_noop("%(kind)s %(name)s: %(event)s"), gettext_noop("%(thing)s: %(name)s")


def lines(payload: Any, language: str, base: str, link: Link) -> Sequence[str]:
    """Return a sentence for an event, or for each item that was visited, with links below `base`."""
    with written_in(language):
        visits = payload["data"].get("visits")
        return [_event(payload, language, base, link)] if visits is None else _visits(visits, language, link)


def joined(sentences: Sequence[str], limit: int) -> str:
    """Return as many whole sentences as have at most `limit` characters together, each on a line."""
    text = sentences[0][:limit]
    for sentence in sentences[1:]:
        if len(text) + len(sentence) + 3 > limit:
            return f"{text}\n…"
        text = f"{text}\n{sentence}"
    return text


def _event(payload: Any, language: str, base: str, link: Link) -> str:
    name, data = payload["type"], payload["data"]
    noun = NOUNS.get(data["kind"])
    page = f"{noun.path}/{{}}" if noun else _PAGES.get(data["kind"], "/dashboard/audit")
    event = gettext("Test") if name == catalog.TEST else names.what(name)
    values = {
        "kind": link(gettext(names.KINDS[data["kind"]][1]), ""),
        "name": link(str(data.get("label") or data["id"] or ""), base + page.format(data["id"])),
        "event": link(event, ""),
    }
    return text_in(language, _EVENT, **values)


def _visits(visits: Sequence[Any], language: str, link: Link) -> Sequence[str]:
    """Return a sentence for each item, the most visited first."""
    counts = Counter((visit.get("label") or gettext("A deleted item"), visit.get("url", "")) for visit in visits)
    texts = {item: ngettext("%(count)s click", "%(count)s clicks", count) for item, count in counts.most_common()}
    return [text_in(language, _COUNT, thing=link(*item), name=text) for item, text in texts.items()]

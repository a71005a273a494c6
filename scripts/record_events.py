"""Write docs/events.md: each event, with a sample that a test has caused. Run by `make events`."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.support.event_samples import CAUSED, PAGE
from waypost.webhooks import catalog

_TESTS = ("tests/contract/test_audited_forms.py", "tests/webhooks/test_event_samples.py")
_TIME, _SECOND = "2026-11-30T09:00:00Z", 1_796_029_200
_TIMES = range(1_700_000_000, 2_000_000_000)
_ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_INTRODUCTION = """# Events

Each event that [webhooks](webhooks.md) send, with its meaning and a sample that a test has caused. Most samples have
only some of the fields that `before` and `after` can have.
"""
_MEANINGS = {
    "created": "It is new; `after` has its fields that are not empty.",
    "updated": "Fields of it have new values; `before` and `after` have these fields.",
    "deleted": "It was deleted; `before` has its fields that are not empty. Items are in the trash for 30 days.",
    "restored": "It is back from the trash.",
    "purged": "It was deleted from the trash, for good.",
    "link.clicked": "Visitors have followed links: up to 100 visits.",
    "code.scanned": "Visitors have scanned QR codes: up to 100 visits. `kind` is `qr`.",
    "file.downloaded": "Visitors have downloaded files: up to 100 visits.",
    "link.limit_near": "80 % of the clicks that the limit of the link allows are used; for limits from 5 on.",
    "link.limit_reached": "The last click that the limit of the link allows was counted.",
    "link.expired": "The expiry of the link has passed.",
    "link.dead": "Three checks of the destination over two days have failed.",
    "link.alive": "A check of a dead destination has succeeded.",
    "domain.failed": "Two checks of the domain in a row have failed; `after` has the `problem`.",
    "domain.recovered": "A check of a failed domain has succeeded.",
    "channel.item_added": "An item was added to the channel; `after` has its kind and id.",
    "channel.item_removed": "An item was removed from the channel; `before` has its kind and id.",
    "overlay.submissions_deleted": "Submissions of the form were deleted.",
    "overlay.submitted": "A visitor has sent the form. The answers are not in the event.",
    "share.deleted": "The share link was deleted.",
    "preset.saved": "A view of the list of links, or a style of QR codes, was saved or renamed.",
    "preset.deleted": "A view or style was deleted.",
    "import.created": "The source of an import is being read, for its preview.",
    "import.started": "The rows of the preview are being imported. Each new item is an event of its own.",
    "import.finished": "All rows are imported.",
    "import.undo_started": "The items of the import are being deleted.",
    "import.undone": "The items of the import are deleted.",
    "import.deleted": "The import was removed from the list, or canceled; its items stay.",
    "account.created": "The account is new.",
    "account.updated": "Its settings, plan or e-mail address have changed.",
    "account.password_changed": "It has a new password.",
    "account.reset_link_created": "A link for a new password was requested, or created by an administrator.",
    "account.suspended": "An administrator has suspended the account.",
    "account.resumed": "The suspension has ended.",
    "account.deletion_scheduled": "The account will be deleted.",
    "account.deletion_canceled": "The account will not be deleted.",
    "account.exported": "All data of the account were downloaded.",
    "key.created": "There is a new API key.",
    "key.deleted": "An API key was revoked.",
    "session.started": "A person has signed in.",
    "session.ended": "A person has signed out, or was signed out.",
    "session.refused": "A person has entered a wrong password or code.",
    "second_factor.enabled": "Two-factor authentication is on.",
    "second_factor.disabled": "Two-factor authentication is off.",
    "second_factor.codes_renewed": "There are new recovery codes.",
    "email_report.created": "There is a new report by e-mail.",
    "email_report.deleted": "The report was deleted.",
    "email_report.confirmed": "The recipient has confirmed the report.",
    "email_report.unsubscribed": "The recipient has unsubscribed.",
    "webhook.secret_rotated": "The webhook has a new secret.",
    "webhook.tested": "A person has sent a test.",
    "webhook.replayed": "Messages are sent again; `after` has their number.",
    "webhook.disabled": "The service has disabled the webhook, because it failed for 5 days (`failing`) or is `gone`.",
}
"""The meaning of events, by their name or the second part of it."""


class _Collector:
    """Collects the messages that tests record."""

    def __init__(self) -> None:
        self.samples: dict[str, Any] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the first message of each event."""
        for name, caused in report.user_properties if report.when == "call" else ():
            if name == CAUSED:
                for payload in caused:
                    self.samples.setdefault(payload["type"], payload)


def main() -> None:
    """Run the tests, and write the page."""
    collector = _Collector()
    pytest.main(["-n0", "-k", "sqlite and (form or like)", *_TESTS], plugins=[collector])
    PAGE.write_text(page(collector.samples), "utf-8")


def page(samples: Mapping[str, Any]) -> str:
    """Return the page with the samples."""
    return _INTRODUCTION + "".join(_sections(samples))


def _sections(samples: Mapping[str, Any]) -> Iterator[str]:
    for kind, verbs in catalog.EVENTS.items():
        yield f"\n## {kind}\n"
        for verb in verbs:
            name = f"{kind}.{verb}"
            text = json.dumps(_fixed(samples[name]), ensure_ascii=False)
            yield f"\n`{name}`: {_MEANINGS.get(name) or _MEANINGS[verb]}\n\n```json\n{text}\n```\n"


def _fixed(value: Any) -> Any:
    """Return a value with the same time everywhere, so that only other changes change the page."""
    if isinstance(value, dict):
        return {name: _fixed(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_fixed(part) for part in value]
    if isinstance(value, int) and value in _TIMES:
        return _SECOND
    return _TIME if isinstance(value, str) and _ISO.fullmatch(value) else value


if __name__ == "__main__":
    main()

"""`/webhooks` and `/webhook/…`: endpoints that get events, and the log of their messages."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from waypost.api import pagination
from waypost.api.context import Change, Context
from waypost.api.request_body import Body, Partial
from waypost.api.responses import MessageResponse, Success
from waypost.api.types import MAX_INTEGER, CreatedAt, Id, ItemId, Line, PathId, Timestamp, Url
from waypost.core import clock
from waypost.webhooks import deliveries, endpoints, formats
from waypost.webhooks.deliveries import Attempt, Delivery, State
from waypost.webhooks.endpoints import Endpoint
from waypost.webhooks.signature import Kind as SignatureKind

router = APIRouter(tags=["Webhooks"])
_MAX_EVENTS = 200
_EXAMPLE_URL = "https://hooks.example.com/waypost"
_TITLE = Field(description="Name for yourself.", examples=["Shop"])
_URL = Field(description="URL that gets the events, `https` or `http`.", examples=[_EXAMPLE_URL])
_FORMAT = Field(
    description="Format of the messages: `standard` (Standard Webhooks), texts for `slack` and `discord`, or visits for"
    " `matomo`, `plausible` and `ga4` (Google Analytics).",
    examples=["standard"],
)
_SITE = Field(
    description="For analytics: the id of the site in Matomo, its domain in Plausible, or the measurement id.",
    examples=[""],
)
_TOKEN = Field(
    description="Secret of the receiver: `token_auth` of Matomo, or the API secret of Google Analytics. Never shown.",
    examples=[""],
)
_EVENTS = Field(
    description="Names of the events, such as `link.created`; `link.*` for all of links, `*` for all (default). Visits"
    " have to be named: `link.clicked`, `code.scanned`, `file.downloaded`.",
    examples=[["link.created", "link.updated"]],
)
_CAMPAIGN = Field(description="Id of a campaign: only its events, and those of its links.", examples=[None])
_CHANNEL = Field(description="Id of a channel: only its events, and those of its items.", examples=[None])
_LINK = Field(description="Id of a link: only its events.", examples=[None])
_ENABLED = Field(description="False: events are kept for 30 days, but not sent.", examples=[True])
_SIGNATURE = Field(
    description="`hmac`: a secret signs the messages, and verifies them. `ed25519`: `publickey` verifies them, and the"
    " private key never leaves the service.",
    examples=["hmac"],
)
_PUBLIC_KEY = Field(
    description="Public key that verifies the messages, for `ed25519`: `whpk_` and Base64.", examples=[""]
)
_SECRET = Field(
    description="Secret that signs the messages. It is not shown again. Empty for `ed25519`.",
    examples=["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="],
)


class WebhookOut(BaseModel):
    """A webhook."""

    model_config = ConfigDict(from_attributes=True)

    id: Id
    title: str = _TITLE
    url: str = _URL
    format: formats.Name = _FORMAT
    site: str = _SITE
    events: Sequence[str] = _EVENTS
    campaign: int | None = _CAMPAIGN
    channel: int | None = _CHANNEL
    link: int | None = _LINK
    overlay: int | None = Field(
        description="Id of the overlay that the webhook belongs to: it gets the submissions.", examples=[None]
    )
    signature: SignatureKind = _SIGNATURE
    publickey: str = _PUBLIC_KEY
    enabled: bool = _ENABLED
    state: str = Field(description="`active`, `failing` or `disabled`.", examples=["active"])
    disabledreason: str = Field(
        description="`failing` (for 5 days) or `gone` (answer 410), if the service disabled it.", examples=[""]
    )
    failing: Timestamp | None = Field(
        description="First failure since the last success, in UTC; null if there is none.", examples=[None]
    )
    date: CreatedAt = Field(validation_alias="created")


class WebhookDetails(Success):
    """One webhook."""

    details: WebhookOut = Field(description="The webhook.")


class WebhookDone(WebhookOut, MessageResponse):
    """The response to update: a message and the webhook."""


class WebhookSecret(WebhookDone):
    """A webhook with its new secret."""

    secret: str = _SECRET


class AttemptOut(BaseModel):
    """An attempt to deliver a message."""

    model_config = ConfigDict(from_attributes=True)

    date: Timestamp = Field(description="Time of the attempt, in UTC.", validation_alias="at")
    status: int = Field(description="HTTP status of the answer; 0 without one.", examples=[204])
    milliseconds: int | None = Field(
        description="Duration; null while it runs, or if the service was stopped meanwhile.", examples=[35]
    )
    error: str = Field(description="Reason without an answer.", examples=[""])
    answer: str = Field(description="Beginning of the body of the answer.", examples=["OK"])


class DeliveryOut(BaseModel):
    """A message for a webhook."""

    id: Id
    uid: str = Field(description="Value of `webhook-id`.", examples=["msg_2f1c0e9d8b7a69584736251403f2e1d0"])
    event: str = Field(description="Name of the event.", examples=["link.created"])
    state: State = Field(description="`waiting`, `delivered` or `failed`.", examples=["delivered"])
    body: str = Field(description="The message as in the format `standard`.", examples=['{"type":"link.created"}'])
    next: Timestamp | None = Field(
        description="Time of the next attempt, in UTC; null if none follows.", examples=[None]
    )
    date: CreatedAt
    attempts: Sequence[AttemptOut] = Field(description="The attempts, oldest first.")


class TestSent(MessageResponse):
    """The response to a test: the id of its message."""

    delivery: int = Field(description="Id of the message in the log.", examples=[1])


class Replayed(MessageResponse):
    """The response to replay."""

    result: int = Field(description="Number of messages that are sent again.", examples=[3])


class WebhookChange(Body):
    """The fields of a webhook."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"events": ["link.*"], "enabled": True}]})

    title: Annotated[Line | None, _TITLE] = None
    url: Annotated[Url, _URL] = ""
    format: Annotated[formats.Name | None, _FORMAT] = None
    site: Annotated[Line | None, _SITE] = None
    credential: Annotated[Line | None, _TOKEN] = None
    events: Annotated[
        Annotated[list[Annotated[str, Field(max_length=40)]], Field(max_length=_MAX_EVENTS)] | None, _EVENTS
    ] = None
    campaign: Annotated[ItemId | None, _CAMPAIGN] = None
    channel: Annotated[ItemId | None, _CHANNEL] = None
    link: Annotated[ItemId | None, _LINK] = None
    enabled: Annotated[bool | None, _ENABLED] = None


class NewWebhook(WebhookChange):
    """A new webhook."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"url": _EXAMPLE_URL, "events": ["link.created"]}]})

    url: Annotated[Url, _URL]
    signature: Annotated[SignatureKind | None, _SIGNATURE] = None


class Replay(Body):
    """A selection of messages; without fields, all that have failed."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"since": 1796000000, "until": 1796086400}]})

    delivery: Annotated[ItemId | None, Field(description="Id of one message.", examples=[None])] = None
    since: Annotated[
        Annotated[int, Field(ge=0, le=MAX_INTEGER)] | None,
        Field(description="All messages from this second on, Unix time, delivered ones too.", examples=[1796000000]),
    ] = None
    until: Annotated[
        Annotated[int, Field(ge=0, le=MAX_INTEGER)] | None,
        Field(description="All messages up to this second, Unix time, delivered ones too.", examples=[1796086400]),
    ] = None


@router.get("/webhooks", response_model=pagination.list_model("webhooks", WebhookOut))
def list_webhooks(context: Context, page_request: pagination.RequestedPage) -> Any:
    """List webhooks, newest first."""
    page = context.read(lambda tx: endpoints.page(tx, context.account, page_request))
    return pagination.list_response("webhooks", page, WebhookOut.model_validate)


@router.get("/webhook/{id}")
def read_webhook(context: Context, id: PathId) -> WebhookDetails:
    """Read a webhook. Its secret is not shown."""
    endpoint = context.read(lambda tx: endpoints.get_owned(tx, context.account, id))
    return WebhookDetails(details=WebhookOut.model_validate(endpoint))


@router.post("/webhook/add")
def create_webhook(context: Context, body: NewWebhook) -> Change[WebhookSecret]:
    """Create a webhook. The response has its secret, which is not shown again.

    Each event is posted to the URL as JSON, signed as [Standard Webhooks](https://www.standardwebhooks.com) says. An
    account has at most 10 webhooks.
    """
    return Change(
        lambda tx: endpoints.add(tx, context.account, settings=context.settings, **body.sent()),
        lambda made: _with_secret("Webhook has been created successfully.", *made),
    )


@router.put("/webhook/{id}/update")
def update_webhook(context: Context, id: PathId, body: Partial[WebhookChange]) -> Change[WebhookDone]:
    """Update a webhook.

    Fields that are not sent keep their values; `null` sets the default. Messages for a disabled webhook fail, and can
    be sent again when it is enabled.
    """
    return Change(
        lambda tx: endpoints.change(tx, context.account, id, settings=context.settings, **body.sent()),
        lambda endpoint: WebhookDone(message="Webhook has been updated successfully.", **_fields(endpoint)),
    )


@router.delete("/webhook/{id}/delete")
def delete_webhook(context: Context, id: PathId) -> Change[MessageResponse]:
    """Delete a webhook with the log of its messages."""
    return Change(
        lambda tx: endpoints.remove(tx, context.account, id),
        lambda _: MessageResponse(message="Webhook has been deleted successfully."),
    )


@router.post("/webhook/{id}/rotate")
def rotate_webhook_secret(context: Context, id: PathId) -> Change[WebhookSecret]:
    """Replace the secret or the keys of a webhook. For 24 hours, messages are signed with the previous one too."""
    return Change(
        lambda tx: endpoints.rotate(tx, context.account, id),
        lambda made: _with_secret("Secret has been replaced successfully.", *made),
    )


@router.post("/webhook/{id}/test")
def test_webhook(context: Context, id: PathId) -> Change[TestSent]:
    """Send the event `webhook.test`, once and at once, also to a disabled webhook."""
    return Change(
        lambda tx: deliveries.send_test(tx, context.account, id),
        lambda delivery: TestSent(message="A test is being sent.", delivery=delivery.id),
    )


@router.get("/webhook/{id}/deliveries", response_model=pagination.list_model("deliveries", DeliveryOut))
def list_webhook_deliveries(
    context: Context,
    id: PathId,
    page_request: pagination.RequestedPage,
    state: Annotated[State | None, Query(description="Only those in this state.", examples=["failed"])] = None,
) -> Any:
    """List the messages of the last 30 days for a webhook with their attempts, newest first."""

    def work(tx: Any) -> tuple[Any, Mapping[int, Sequence[Attempt]]]:
        page = deliveries.page(tx, context.account, id, page_request, state=state)
        return page, deliveries.attempts_of(tx, context.account, page.items)

    page, attempts = context.read(work)
    return pagination.list_response("deliveries", page, lambda each: _delivery_out(each, attempts.get(each.id, ())))


@router.post("/webhook/{id}/replay")
def replay_webhook(context: Context, id: PathId, body: Replay) -> Change[Replayed]:
    """Send messages again: one, those of a period, or all that have failed. They keep their `webhook-id`.

    A request sends at most 5000 of those that have failed, oldest first. A period with more is refused.
    """
    return Change(
        lambda tx: deliveries.replay(
            tx, context.account, id, delivery=body.delivery, first=body.since, last=body.until
        ),
        lambda count: Replayed(message="The messages are sent again.", result=count),
    )


def _fields(endpoint: Endpoint) -> dict[str, Any]:
    return {**WebhookOut.model_validate(endpoint).model_dump(exclude={"date"}), "created": endpoint.created}


def _with_secret(message: str, endpoint: Endpoint, secret: str) -> WebhookSecret:
    return WebhookSecret(message=message, secret=secret, **_fields(endpoint))


def _delivery_out(delivery: Delivery, attempts: Sequence[Attempt]) -> DeliveryOut:
    return DeliveryOut(
        id=delivery.id,
        uid=delivery.uid,
        event=delivery.event,
        state=delivery.state,
        body=delivery.body,
        next=clock.text(delivery.due) if delivery.state == "waiting" else None,
        date=clock.text(delivery.created),
        attempts=[AttemptOut.model_validate(attempt) for attempt in attempts],
    )

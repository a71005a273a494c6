"""A tool for the submissions of forms, which visitors wrote."""

from collections.abc import Sequence
from typing import Annotated

import mcp_types as types
from pydantic import BaseModel, Field

from waypost.api.types import ItemId
from waypost.core import clock
from waypost.integrations.mcp import untrusted_text
from waypost.integrations.mcp.tool import PageArguments, PageResult, Tool, ToolContext, paging
from waypost.items.overlays import submissions


class ListSubmissions(PageArguments):
    """Arguments of list_submissions."""

    overlay: Annotated[ItemId, Field(description="Id of the overlay, as list_items returns it.")]


class Answers(BaseModel):
    """The text that a visitor wrote; fields that the form does not have are empty."""

    name: str = Field(description="Name of the visitor.")
    email: str = Field(description="E-mail address of the visitor.")
    message: str = Field(description="The message.")
    choice: str = Field(description="The selected option of a poll.")


class Submission(BaseModel):
    """A form that a visitor submitted."""

    id: int = Field(description="Id of the submission.")
    date: str = Field(description="Time of the submission, in UTC.")
    link: int | None = Field(description="Id of the link that the visitor followed; null if it was deleted.")
    untrusted: Answers = Field(description=untrusted_text.NOTICE)


class SubmissionPage(PageResult):
    """A page of submissions."""

    submissions: list[Submission] = Field(description="The submissions of this page, newest first.")

    def blocks(self) -> Sequence[types.ContentBlock]:
        """Return the notice about text of strangers."""
        return [untrusted_text.notice()]


def list_submissions(context: ToolContext, arguments: ListSubmissions) -> SubmissionPage:
    """List the forms that visitors submitted on an overlay: contacts, newsletter sign-ups and votes of polls."""
    page = context.read(
        lambda tx: submissions.list_submissions(tx, context.account, arguments.overlay, arguments.window)
    )
    return SubmissionPage(**paging(page), submissions=[_shown(item) for item in page.items])


def _shown(item: submissions.Submission) -> Submission:
    answers = Answers(
        name=untrusted_text.visible(item.name),
        email=untrusted_text.visible(item.email),
        message=untrusted_text.visible(item.message),
        choice=untrusted_text.visible(item.choice),
    )
    return Submission(id=item.id, date=clock.text(item.created), link=item.link, untrusted=answers)


TOOLS = (Tool("List submissions of forms", "read", list_submissions),)

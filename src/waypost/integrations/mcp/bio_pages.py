"""Tools for bio pages and their blocks."""

from typing import Annotated, Any

from pydantic import ConfigDict, Field, WithJsonSchema
from sqlalchemy import Connection

from waypost.api.types import ItemId
from waypost.core.errors import invalid
from waypost.db import crud
from waypost.db.schema import bios
from waypost.integrations.mcp.tool import Arguments, Result, Tool, ToolContext
from waypost.items.bios import api, ops
from waypost.items.bios.blocks import Block
from waypost.items.bios.pictures import fields_of
from waypost.items.bios.schemas import AnyBlock, BioChange, BioDetails, BlockClicks, NewBio

_ID = Field(description="Id of the bio page, as list_items returns it.")
_MOST_BLOCKS = 200
_Blocks = Annotated[
    Annotated[list[AnyBlock], Field(max_length=_MOST_BLOCKS)] | None,
    WithJsonSchema(
        {
            "type": "array",
            "maxItems": _MOST_BLOCKS,
            "items": {"type": "object"},
            "description": "All blocks from top to bottom, each as `block` of add_bio_block.",
        }
    ),
]


class ReadBioPage(Arguments):
    """Arguments of read_bio_page."""

    id: Annotated[ItemId, _ID]


class BioContent(Result):
    """A bio page with its blocks."""

    page: BioDetails = Field(description="The page.")
    clicks: list[BlockClicks] = Field(description="Clicks of the blocks that visitors can click, in the page's order.")


class CreateBioPage(NewBio):
    """Arguments of create_bio_page."""

    model_config = ConfigDict(extra="forbid")

    blocks: _Blocks = None


class ChangeBioPage(BioChange):
    """Arguments of change_bio_page."""

    model_config = ConfigDict(extra="forbid")

    id: Annotated[ItemId, _ID]
    blocks: _Blocks = None

    def sent(self) -> dict[str, Any]:
        """Return the fields of the page that were sent, with blocks as dicts."""
        return {name: value for name, value in super().sent().items() if name != "id"}


class AddBioBlock(Arguments):
    """Arguments of add_bio_block."""

    id: Annotated[ItemId, _ID]
    block: Annotated[AnyBlock, Field(description="The block.")]
    position: Annotated[
        int | None,
        Field(ge=1, le=_MOST_BLOCKS, description="Position of the block, from 1 at the top; by default at the bottom."),
    ] = None


class BioAddress(Result):
    """The id and the short URL of a bio page."""

    id: int = Field(description="Id of the bio page.")
    short_url: str = Field(description="Short URL of the page.")


class BioState(Result):
    """A bio page after a change."""

    page: BioDetails = Field(description="The page.")


def read_bio_page(context: ToolContext, arguments: ReadBioPage) -> BioContent:
    """Read a bio page: its texts, its theme, its blocks from top to bottom and their clicks."""
    answer = api.read_bio_page(context, arguments.id)
    return BioContent(page=answer.details, clicks=answer.blocks)


def create_bio_page(context: ToolContext, arguments: CreateBioPage) -> BioAddress:
    """Create a bio page: a public page with buttons, texts, images, social profiles and contact cards."""
    done = context.run(api.create_bio_page(context, arguments))
    return BioAddress(id=done.id, short_url=done.shorturl)


def change_bio_page(context: ToolContext, arguments: ChangeBioPage) -> BioState:
    """Change a bio page. Arguments that are not sent keep their values; null sets the default.

    `blocks` replaces all blocks: read the page first, and send all blocks that it should have. Blocks with the same
    destination or title keep their clicks. Use add_bio_block to add one.
    """
    context.run(api.update_bio_page(context, arguments.id, arguments))
    return BioState(page=api.read_bio_page(context, arguments.id).details)


def add_bio_block(context: ToolContext, arguments: AddBioBlock) -> BioState:
    """Add one block to a bio page. The other blocks are kept."""
    sent = {"blocks": [arguments.block.model_dump(exclude_unset=True)]}
    (block,) = fields_of(context, sent)["blocks"]

    def work(tx: Connection) -> None:
        crud.lock_row(tx, bios, context.account, arguments.id)
        blocks = [_as_sent(present) for present in ops.get_owned(tx, context.account, arguments.id).blocks]
        if len(blocks) >= _MOST_BLOCKS:
            raise invalid("block", f"block cannot be added: the page has {_MOST_BLOCKS} blocks, the most that it can.")
        blocks.insert(len(blocks) if arguments.position is None else arguments.position - 1, block)
        ops.change(tx, context.account, arguments.id, settings=context.settings, blocks=blocks)

    context.write(work)
    return BioState(page=api.read_bio_page(context, arguments.id).details)


def _as_sent(block: Block) -> dict[str, Any]:
    """Return a block without its id, which the page keeps by its destination and title."""
    return {name: value for name, value in block.items() if name != "id"}


TOOLS = (
    Tool("Read a bio page", "read", read_bio_page),
    Tool("Create a bio page", "create", create_bio_page),
    Tool("Change a bio page", "change", change_bio_page),
    Tool("Add a block to a bio page", "create", add_bio_block),
)

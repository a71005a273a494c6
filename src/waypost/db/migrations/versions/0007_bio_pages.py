"""Bio pages that visitors meet: the clicks of their blocks, and a warning before sensitive ones.

Revision: 0007, after 0006
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_LEADS = {"link": "url", "image": "link", "social": "url"}


def upgrade() -> None:
    """Add the column and the table, and give every block that leads somewhere its row."""
    op.add_column("bios", sa.Column("sensitive", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.create_table(
        "bio_blocks",
        sa.Column("id", _ID, autoincrement=True, nullable=False),
        sa.Column("bio", _ID, nullable=False),
        sa.Column("clicks", sa.BigInteger(), nullable=False),
        sa.Column("uniqueclicks", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["bio"], ["bios.id"], name=op.f("bio_blocks_bio_fk"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("bio_blocks_pk")),
        sqlite_autoincrement=True,
    )
    op.create_index("bio_blocks_bio", "bio_blocks", ["bio", "id"], unique=False)
    _number()


def _number() -> None:
    bios = sa.table("bios", sa.column("id", _ID), sa.column("blocks", sa.JSON()))
    blocks = sa.table("bio_blocks", *(sa.column(name, _ID) for name in ("id", "bio", "clicks", "uniqueclicks")))
    tx = op.get_bind()
    for bio, told in tx.execute(sa.select(bios.c.id, bios.c.blocks)).all():
        numbered = [dict(block) for block in told]
        for block in numbered:
            if block["type"] == "vcard" or block.get(_LEADS.get(block["type"], "")):
                new = sa.insert(blocks).values(bio=bio, clicks=0, uniqueclicks=0).returning(blocks.c.id)
                block["id"] = tx.execute(new).scalar_one()
        if numbered:
            tx.execute(sa.update(bios).where(bios.c.id == bio).values(blocks=numbered))

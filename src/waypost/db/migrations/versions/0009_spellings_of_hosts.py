"""Let searches find links by either spelling of their destination's host: its ASCII form and its own script.

Revision: 0009
"""

import sqlalchemy as sa
from alembic import op

from waypost.core.text_folding import folded
from waypost.core.uris import other_spellings

revision = "0009"
down_revision = "0008"
_BATCH = 2_000
_HAS_TWO = {
    "sqlite": "(length(CAST(url AS BLOB)) > length(url) OR url LIKE '%xn--%')",
    "postgresql": "(octet_length(url) > char_length(url) OR url ILIKE '%xn--%')",
}
_CHANGE = sa.text("UPDATE links SET search = :search WHERE account = :account AND id = :id")


def upgrade() -> None:
    """Add the other spelling to the text that searches read, in batches. Triggers update the search index."""
    connection = op.get_bind()
    rows = sa.text(
        "SELECT account, id, url, search FROM links WHERE (account, id) > (:account, :id)"
        f" AND {_HAS_TWO[connection.dialect.name]} ORDER BY account, id LIMIT {_BATCH}"
    )
    last = {"account": 0, "id": 0}
    while batch := connection.execute(rows, last).all():
        last = {"account": batch[-1].account, "id": batch[-1].id}
        changed = [
            {"account": row.account, "id": row.id, "search": "\x1f".join((row.search, *map(folded, urls)))}
            for row in batch
            if (urls := other_spellings(row.url))
        ]
        if changed:
            connection.execute(_CHANGE, changed)

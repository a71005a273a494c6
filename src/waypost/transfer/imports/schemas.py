"""The bodies of requests and responses for imports (decision 108)."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from waypost.api.request_body import Body
from waypost.api.responses import Success
from waypost.api.types import CreatedAt, ItemId, Line, Url
from waypost.core import clock
from waypost.core.formats import DateOrder
from waypost.transfer.imports.planner import Options
from waypost.transfer.imports.plans import FATES, Conflicts, Fate, Folders, Plan, State, Summary
from waypost.transfer.imports.sources.registry import Service
from waypost.transfer.imports.undo import Preview

_CONFLICTS = Field(
    description="A taken alias: `skip` the row, add a `suffix`, or `replace` your own link.", examples=["skip"]
)
_FOLDERS = Field(description="Folders and groups become campaigns or channels.", examples=["campaign"])
_HOSTS = Field(
    description="Hosts of the source, and the host here for each; empty for the service's own. The empty host of the"
    " source is that of links without one, such as in a dump of YOURLS.",
    examples=[{"bit.ly": "go.example.com", "": "go.example.com"}],
)


def _zone(name: str) -> str:
    if clock.zone(name) is None:
        raise ValueError("must be the name of a time zone, such as Europe/Berlin or UTC")
    return name


def hosts_of_lines(text: Any) -> Any:
    """Return the pairs of hosts in lines such as `old.example=new.example`, with one side at least. Raises ValueError.

    Without the left side, the pair is for links without a host.
    """
    hosts = {}
    for line in str(text or "").split():
        old, separator, new = line.partition("=")
        if not separator or not (old or new):
            raise ValueError("must have a line such as old.example=new.example for each host")
        hosts[old] = new
    return hosts


_Pairs = Annotated[dict[str, str], Field(max_length=100)]


class NewImport(Body):
    """The source of an import, and how its links come along."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"file": 1, "conflicts": "suffix"}]})

    service: Annotated[
        Service | None, Field(description="Service whose API is read. Give this or `file`.", examples=["dub"])
    ] = None
    token: Annotated[
        Line | None,
        Field(max_length=1000, description="Token of that service. It is never stored.", examples=["dub_abc"]),
    ] = None
    url: Annotated[
        Url | None,
        Field(description="Address of your own server of the service.", examples=["https://old.example.com"]),
    ] = None
    history: Annotated[
        bool | None, Field(description="False to import only the totals of clicks, which is faster.", examples=[True])
    ] = None
    file: Annotated[
        ItemId | None,
        Field(
            description="Id of your file: CSV, SQL dump of YOURLS, SQLite, JSON of LinkStack, saved page of Linktree,"
            " or archive of waypost.",
            examples=[1],
        ),
    ] = None
    columns: Annotated[
        _Pairs | None,
        Field(description="Columns of a CSV file by field, where they have other names.", examples=[{"url": "Ziel"}]),
    ] = None
    timezone: Annotated[
        Annotated[Line, AfterValidator(_zone)] | None,
        Field(
            description="Time zone of dates in CSV files and YOURLS that do not name one; UTC by default.",
            examples=["Europe/Berlin"],
        ),
    ] = None
    dates: Annotated[
        DateOrder | None,
        Field(
            description="Order in dates of CSV files such as `03/04/2026`; by default `unambiguous`, which refuses"
            " dates that can be two dates.",
            examples=["day-first"],
        ),
    ] = None
    hosts: Annotated[_Pairs | None, _HOSTS] = None
    conflicts: Annotated[Conflicts | None, _CONFLICTS] = None
    folders: Annotated[Folders | None, _FOLDERS] = None

    @property
    def options(self) -> Options:
        """The choices for conflicts, folders and hosts."""
        return Options(self.conflicts or "skip", self.folders or "campaign", self.hosts or {})


class ImportDetails(BaseModel):
    """An import: its state, and the number of rows of each fate."""

    state: State = Field(
        description="`reading` the source, `planned`, `applying`, `applied`, `undoing`, `undone`, or `failed`.",
        examples=["planned"],
    )
    running: bool = Field(description="True while it is worked on. False in between: resume it.", examples=[False])
    error: str = Field(description="Why it stopped; empty if it did not.", examples=[""])
    source: str = Field(description="Service or kind of file.", examples=["dub"])
    rows: int = Field(description="Rows that were read so far.", examples=[1204])
    fates: Mapping[Fate, int] = Field(
        description="Rows by fate: they `create` an item, are `there` already, have `changed` a link, have a"
        " `conflict`, or are `impossible`.",
        examples=[dict.fromkeys(FATES, 0) | {"create": 1204}],
    )
    losing: int = Field(description="Created and changed links that lose something.", examples=[37])
    ignored: list[str] = Field(description="Columns and invalid rows that are not imported.", examples=[["leads"]])
    date: CreatedAt

    @classmethod
    def of(cls, plan: Plan, summary: Summary) -> "ImportDetails":
        """Return the details of a plan."""
        return cls(
            state=plan.state,
            running=plan.is_busy,
            error=plan.error,
            source=plan.source,
            rows=plan.row_count,
            fates={fate: summary.counts.get(fate, 0) for fate in FATES},
            losing=summary.losing,
            ignored=list(plan.ignored),
            date=clock.text(plan.created),
        )


class ImportAnswer(Success):
    """An import."""

    details: ImportDetails = Field(description="The import.")


class ImportRow(BaseModel):
    """A row of the source, and its fate."""

    model_config = ConfigDict(from_attributes=True)

    line: int = Field(description="Line in the file, or number of the row.", examples=[2])
    kind: str = Field(description="Kind of the item: `link`, `bio`, or another one of an archive.", examples=["link"])
    fate: Fate = Field(description="Fate of the row.", examples=["create"])
    reason: str = Field(description="Reason of the fate.", examples=[""])
    losses: str = Field(description="Parts that the link loses.", examples=["the A/B test is left out"])
    host: str = Field(description="Host here; empty for the service's own.", examples=[""])
    alias: str = Field(description="Alias here.", examples=["spring"])
    url: str = Field(
        description="Destination, or the name of an item without one.", examples=["https://example.com/spring-sale"]
    )


class UndoData(BaseModel):
    """The effect of undo."""

    deleted: int = Field(description="Items that undo deletes.", examples=[1204])
    restored: int = Field(description="Links that undo changes back.", examples=[0])
    clicks: int = Field(description="Clicks of the deleted items since the import.", examples=[5])
    edited: list[str] = Field(description="Aliases of items that were edited: undo is refused.", examples=[[]])


class UndoAnswer(Success):
    """The effect that undo would have."""

    data: UndoData = Field(description="The effect.")

    @classmethod
    def of(cls, preview: Preview) -> "UndoAnswer":
        """Return the effect of undo."""
        return cls(
            data=UndoData(
                deleted=preview.deleted,
                restored=preview.restored,
                clicks=preview.clicks,
                edited=[*preview.edited][:100],
            )
        )

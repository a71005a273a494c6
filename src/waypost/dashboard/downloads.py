"""CSV files that people download in the dashboard and open in a spreadsheet."""

from collections.abc import Iterable
from itertools import chain

from starlette.responses import StreamingResponse

from waypost.core import csv_export
from waypost.http import file_names


def csv_file(name: str, lines: Iterable[str]) -> StreamingResponse:
    """Return lines of CSV as a download with this name, without `.csv`, in the language of the reader."""
    headers = {"Content-Disposition": file_names.attachment(name, "csv")}
    return StreamingResponse(chain([csv_export.BOM], lines), media_type="text/csv; charset=utf-8", headers=headers)

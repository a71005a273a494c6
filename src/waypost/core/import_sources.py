"""Names of the services and files that links can be imported from, by the source of an import."""

from collections.abc import Mapping
from types import MappingProxyType

NAMES: Mapping[str, str] = MappingProxyType(
    {
        "bitly": "Bitly",
        "chhoto": "Chhoto URL",
        "csv": "CSV",
        "dub": "Dub",
        "file": "File",
        "kutt": "Kutt",
        "linkstack": "LinkStack",
        "linktree": "Linktree",
        "rebrandly": "Rebrandly",
        "shlink": "Shlink",
        "short.io": "Short.io",
        "waypost": "waypost",
        "yourls": "YOURLS",
    }
)

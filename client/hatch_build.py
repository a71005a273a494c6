"""Build hook of hatchling: writes the generated part of the client before a package or an installation is built."""

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).parent))  # hatchling runs this file from no folder

from generator.files import write_files


class GeneratedClient(BuildHookInterface[Any]):
    """Called by hatchling before it builds an sdist, a wheel or an editable installation."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # hatchling's signature
        """Write the files that have changed."""
        write_files()

"""Commands whose modules are imported when they run: `waypost --help` and `waypost version` start in 0.1 s."""

from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

from waypost.core import module_loading


class LazyCommand(TyperCommand):
    """A command or a group of commands, of which only the name and the help are known before it runs."""

    def __init__(self, name: str, source: str, group: str, help: str) -> None:
        """`source` is a function or a `typer.Typer`, such as `waypost.cli.service:serve`; `group` a heading."""
        super().__init__(name, help=help, callback=None, rich_help_panel=group)
        self._source = source

    def load(self) -> TyperCommand | TyperGroup:
        """Import the module and return the complete command."""
        module, _, attribute = self._source.partition(":")
        source = getattr(module_loading.load(module), attribute)
        owner = typer.Typer()
        if isinstance(source, typer.Typer):
            owner.add_typer(source, name=self.name, help=self.help)
        else:
            owner.command(self.name, help=self.help)(source)
        command = get_group(owner).commands[str(self.name)]
        assert isinstance(command, TyperCommand | TyperGroup)
        return command

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Parse the arguments of the complete command, which then runs instead of this one."""
        return self.load().make_context(info_name, args, parent, **extra)

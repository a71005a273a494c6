"""The `waypost brand` commands: name, color and logo of the installation."""

from pathlib import Path
from typing import Annotated

import typer

from waypost.cli import access, console
from waypost.media.branding import store
from waypost.media.branding.brand import NO_BRAND, Brand, checked_color, checked_name, logo_bytes, require_name
from waypost.media.pictures import picture_fetch

brand = typer.Typer(no_args_is_help=True)
_Name = Annotated[str | None, typer.Option(help="Name of the service; empty for none.")]
_Color = Annotated[str | None, typer.Option(help="Color of buttons and links, #RRGGBB; empty for the usual one.")]
_Logo = Annotated[Path | None, typer.Option(help="Logo: a PNG or JPEG file.", exists=True, dir_okay=False)]


@brand.command("show")
def show(json: console.AsJson = False) -> None:
    """Show the brand of the installation."""
    with access.database() as database:
        stored = database.read(store.of_installation)
    fields = {
        "name": stored.name or None,
        "color": stored.color or None,
        "logo": f"PNG, {len(logo_bytes(stored.logo))} bytes" if stored.logo else None,
    }
    if json:
        console.as_json(fields)
    else:
        console.print_fields(fields)


@brand.command("set")
def change(name: _Name = None, color: _Color = None, logo: _Logo = None) -> None:
    """Set the name, color or logo of the dashboard, of e-mails and of pages for visitors. Others stay as they are."""
    if name is None and color is None and logo is None:
        raise typer.BadParameter("give at least one of --name, --color and --logo")
    picture = None if logo is None else picture_fetch.brand_logo(logo.read_bytes(), field="logo")
    with access.database() as database:
        stored = database.read(store.of_installation)
        new = Brand(
            name=stored.name if name is None else checked_name(name, field="name"),
            color=stored.color if color is None else checked_color(color, field="color"),
            logo=stored.logo if picture is None else picture,
        )
        require_name(new, field="name")
        database.write(lambda tx: store.set_of_installation(tx, new))
    console.stdout.print("The brand was saved.")


@brand.command("remove")
def remove() -> None:
    """Remove name, color and logo: pages look like those of waypost again."""
    with access.database() as database:
        database.write(lambda tx: store.set_of_installation(tx, NO_BRAND))
    console.stdout.print("The brand was removed.")

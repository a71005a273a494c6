"""Pages of UTM templates: the list and the editor."""

from collections.abc import Mapping

from sqlalchemy import Connection
from starlette.responses import Response

from waypost.dashboard import trash
from waypost.dashboard.context import PageContext
from waypost.dashboard.forms import Form, Value
from waypost.dashboard.routing import Router
from waypost.items.utm import ops
from waypost.items.utm.api import NewTemplate, TemplateChange
from waypost.urls.url_parts import UTM_NAMES

pages = Router()
_LIST = "/dashboard/utm"


@pages.get("/dashboard/utm")
def list_templates(context: PageContext) -> Response:
    page = context.read(lambda tx: ops.page(tx, context.account, context.page_request()))
    return context.render_list("utm/list.html", page, names=UTM_NAMES)


@pages.get("/dashboard/utm/new")
def show_new_form(context: PageContext) -> Response:
    """Show the form, filled in from the query: the link editor opens it with the parameters of a link."""
    return context.render("utm/new.html", form=Form({name: context.query(name) for name in ("name", *UTM_NAMES)}))


@pages.post("/dashboard/utm/new", resumable=True)
def create_template(context: PageContext) -> Response:
    form = context.form()
    if context.create(form, NewTemplate, ops.add) is None:
        return context.render("utm/new.html", status=400, form=form)
    return context.redirect(_LIST, message="Your UTM template is ready.")


@pages.get("/dashboard/utm/{id:int}")
def show_editor(context: PageContext, id: int) -> Response:
    template = context.read(lambda tx: ops.get_owned(tx, context.account, id))
    return context.render("utm/edit.html", utm_template=template, form=Form(_values(template)))


@pages.post("/dashboard/utm/{id:int}", resumable=True)
def update_template(context: PageContext, id: int) -> Response:
    template = context.read(lambda tx: ops.get_owned(tx, context.account, id))
    form = context.form(current=_values(template))

    def stored(tx: Connection) -> Mapping[str, Value]:
        return _values(ops.get_owned(tx, context.account, id))

    if not context.update(form, TemplateChange, ops.change, id, stored):
        return context.render("utm/edit.html", status=400, utm_template=template, form=form)
    return context.redirect(_LIST, message="Saved.")


@pages.get("/dashboard/utm/{id:int}/delete")
def confirm_deletion(context: PageContext, id: int) -> Response:
    template = context.read(lambda tx: ops.get_owned(tx, context.account, id))
    return context.render("utm/delete.html", utm_template=template)


@pages.post("/dashboard/utm/{id:int}/delete")
def delete_template(context: PageContext, id: int) -> Response:
    message = "The UTM template was deleted. Links keep their parameters."
    return trash.delete(context, "utm", [id], trash.one_by_one(ops.remove), singular=message)


def _values(template: ops.Template) -> Mapping[str, Value]:
    """Return the values of the editor's fields."""
    return {name: getattr(template, name) for name in ("name", *UTM_NAMES)}

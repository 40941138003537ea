"""Render self-contained HTML pages from templates.

A page contains its styles, script and data, and makes no network requests. Tables and charts are
static HTML; the script draws the table of queries and sorts tables.
"""

from functools import cache
from typing import Any

from skgraded._input.versions import versions
from skgraded.writing import text

MAX_QUERIES = 2_000  # maximum number of table rows on a page (about 0.3 MB for 4 systems)


def render(template: str, page: dict[str, Any]) -> str:
    """Render a template with the content of a page."""
    from skgraded import __version__

    others = {name: number for name, number in versions().items() if name != "skgraded"}
    made = ", ".join(f"{name} {number}" for name, number in others.items())
    html = _environment().get_template(template).render(version=__version__, made=made, page=page)
    return text.utf8(html)


@cache
def _environment() -> Any:
    """Return the environment of the templates, which compiles each template only once."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("skgraded.writing"), autoescape=True, undefined=StrictUndefined
    )
    environment.filters.update(
        count=lambda n: f"{n:,}",
        shortened=text.shortened,
        label=text.label,
    )
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    return environment

"""Sphinx extension: names of the public API in the text become links, "ndcng@10" does not.

A literal such as ``QueryRanker``, ``sg.compare(…)`` or ``NDCNG@10`` links to the page of its
object. Only names with a page become links, so none of them can break.
"""

import re

NAME = re.compile(r"(?:sg\.|skgraded\.)?([A-Za-z_][\w.]*)(?:\(.*\)|@\w+)?", re.DOTALL)
# Parameters and other libraries' functions have these names too: a link needs the module.
AMBIGUOUS = {"measure", "objective", "custom_metric"}


def object_named(text, kinds):
    """Return the full name of the public object that a literal names, or None.

    `kinds` maps the full names of all public objects to their kinds.
    """
    match = NAME.fullmatch(text)
    if match is None or match[1] in AMBIGUOUS and text == match[1]:
        return None
    if f"skgraded.{match[1]}" in kinds:
        return f"skgraded.{match[1]}"
    candidates = [
        name
        for name, kind in kinds.items()
        if name.endswith(f".{match[1]}") and kind in ("class", "exception", "function")
    ]
    return candidates[0] if len(candidates) == 1 else None


def link_names(app, doctree, docname):
    """Turn literals that name a public object into links, except on the pages of the API."""
    from docutils import nodes
    from sphinx.util.nodes import make_refnode

    if app.builder.format != "html" or docname.startswith("api/"):
        return
    objects = app.env.domains.python_domain.objects
    kinds = {name: entry.objtype for name, entry in objects.items() if not entry.aliased}
    without_links = {
        id(literal)
        for kind in (nodes.reference, nodes.title)
        for node in doctree.findall(kind)
        for literal in node.findall(nodes.literal)
    }
    for literal in list(doctree.findall(nodes.literal)):
        name = object_named(literal.astext(), kinds)
        if name is None or id(literal) in without_links:
            continue
        entry, text = objects[name], literal.deepcopy()
        link = make_refnode(app.builder, docname, entry.docname, entry.node_id, text, name)
        literal.replace_self(link)


def keep_cutoffs(app, doctree, docname):
    """Turn links to e-mail addresses into text: docutils reads "ndcng@10" as an address."""
    from docutils import nodes

    for link in list(doctree.findall(nodes.reference)):
        if link.get("refuri", "").startswith("mailto:"):
            link.replace_self(link.children)


def setup(app):
    """Register both steps."""
    app.connect("doctree-resolved", link_names)
    app.connect("doctree-resolved", keep_cutoffs)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

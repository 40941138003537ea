"""Sphinx extension: names of the public API in the text become links, "ndcng@10" does not.

A literal such as ``QueryRanker``, ``sg.compare(…)`` or ``NDCNG@10`` links to the page of its object.
Only names with a page become links, so that none of them can break.
"""

import re

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

NAME = re.compile(r"(?:sg\.|skgraded\.)?([A-Za-z_][\w.]*)(?:\(.*\)|@\w+)?", re.DOTALL)
# Parameters and other libraries' functions have these names too: a link needs the module.
AMBIGUOUS = {"measure", "objective", "custom_metric", "learning_curve", "permutation_importance"}


def object_named(text, objects):
    """The full name of the public object that a literal names, or None."""
    match = NAME.fullmatch(text)
    if match is None or match[1] in AMBIGUOUS and text == match[1]:
        return None
    if f"skgraded.{match[1]}" in objects:
        return f"skgraded.{match[1]}"
    candidates = [
        name for name, entry in objects.items()
        if name.endswith(f".{match[1]}") and entry.objtype in ("class", "exception", "function")
    ]
    return candidates[0] if len(candidates) == 1 else None


class LinkNames(SphinxPostTransform):
    """Turn literals that name a public object into links, except on the pages of the API."""

    default_priority = 500

    def run(self, **kwargs):
        """Replace the literals of one page."""
        docname = self.env.docname
        if self.app.builder.format != "html" or docname.startswith("api/"):
            return
        objects = self.env.domains.python_domain.objects
        for literal in list(self.document.findall(nodes.literal)):
            name = object_named(literal.astext(), objects)
            ancestors = (nodes.reference, nodes.title)
            if name is None or any(_is_inside(literal, kind) for kind in ancestors):
                continue
            entry = objects[name]
            link = make_refnode(
                self.app.builder, docname, entry.docname, entry.node_id, literal.deepcopy(), name
            )
            literal.replace_self(link)


class KeepCutoffs(SphinxPostTransform):
    """Turn links to e-mail addresses into text: docutils reads "ndcng@10" as an address."""

    default_priority = 500

    def run(self, **kwargs):
        """Replace the links of one page."""
        for link in list(self.document.findall(nodes.reference)):
            if link.get("refuri", "").startswith("mailto:"):
                link.replace_self(link.children)


def _is_inside(node, kind):
    """Whether a node has an ancestor of a kind."""
    while node.parent is not None:
        node = node.parent
        if isinstance(node, kind):
            return True
    return False


def setup(app):
    """Register both transforms."""
    app.add_post_transform(LinkNames)
    app.add_post_transform(KeepCutoffs)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""How Sphinx builds the site: python -m sphinx -W -b html docs docs/_build/html."""

import re
import runpy
import sys
from pathlib import Path

from skgraded import __version__

sys.path.insert(0, str(Path(__file__).parent))  # for api_links

project = "skgraded"
author = "The skgraded developers"
project_copyright = author
version = release = __version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "api_links",
]
exclude_patterns = ["_build", "gallery/*.ipynb", "gallery/*.py"]
templates_path = ["_templates"]

# Pages ------------------------------------------------------------------------------------------

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_fence_as_directive = ["math"]  # code hosts also render ```math
myst_heading_anchors = 4
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# Files of the repository that are also pages of the site. Links in the Markdown files are relative
# to these files, so that they also work in the repository.
PAGES = {
    "../benchmarks/README.md": "benchmarks.md",
    "../../benchmarks/README.md": "../benchmarks.md",  # in docs/recipes
    "../conformance/README.md": "conformance.md",
    "../../conformance/README.md": "../conformance.md",  # in docs/coming_from
    "../CONTRIBUTING.md": "contributing.md",
    "../MAINTAINING.md": "maintaining.md",
    "../CHANGELOG.md": "changelog.md",
}
INCLUDED = {page: file for file, page in PAGES.items() if "/" not in page}

# The API ----------------------------------------------------------------------------------------

default_role = "py:obj"  # a link where it is a public name
smartquotes = False
autosummary_generate = True
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"  # the names of methods fit into the sidebar
autodoc_typehints = "none"  # the docstrings say more
numpydoc_show_class_members = False  # the template lists them

# The gallery ------------------------------------------------------------------------------------

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"(?:^|[/\\])(?!plot_)[^/\\]*\.py$",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "write_computation_times": False,  # its page fetches scripts from elsewhere
    "download_all_examples": False,
    "reference_url": {"skgraded": None},
    "backreferences_dir": "gallery/used_by",
    "doc_module": ("skgraded",),
    "image_srcset": ["2x"],
    "thumbnail_size": (480, 336),
}

# The look ---------------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = "skgraded"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_favicon = "_static/logo.svg"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {
        "text": "skgraded",
        "image_light": "_static/logo.svg",
        "image_dark": "_static/logo.svg",
        "alt_text": "skgraded",
    },
    "navigation_with_keys": False,
    "collapse_navigation": True,
    "navbar_persistent": ["search-field"],
    "show_prev_next": True,
    "header_links_before_dropdown": 5,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_context = {"default_mode": "auto"}
html_sidebars = {"index": [], "changelog": []}

# Formulas are MathML: browsers draw them by themselves, so that the site needs neither a script nor
# a network for them, and screen readers read them.
html_math_renderer = "mathml"


def _math(translator, node, as_block):
    from docutils.utils.math.latex2mathml import tex2mathml

    text = tex2mathml(node.astext(), as_block=as_block)
    translator.body.append(f'<div class="formula" tabindex="0">{text}</div>' if as_block else text)


def _inline(translator, node):
    from docutils.nodes import SkipNode

    _math(translator, node, as_block=False)
    raise SkipNode


def _block(translator, node):
    from docutils.nodes import SkipNode

    _math(translator, node, as_block=True)
    raise SkipNode


FORMULA = re.compile(r"^### (\w+)\n.*?```math\n(.*?)```", re.MULTILINE | re.DOTALL)
FORMULAS = {
    name: formula
    for page in ("formulas.md", "user_models_and_pairs.md")
    for name, formula in FORMULA.findall((Path(__file__).parent / page).read_text("utf-8"))
}


def _set_formula(app, what, name, obj, options, lines):
    """The page of a measure has its formula, from the pages of formulas, below its first line."""
    measure = name.removeprefix("skgraded.")
    if what == "class" and measure in FORMULAS:
        formula = [f"   {line}" for line in FORMULAS[measure].splitlines()]
        lines[1:1] = ["", ".. math::", "", *formula, ""]


def _show_foreign_terms(app, what, name, obj, options, lines):
    """Show the terms of scikit-learn's glossary in inherited docstrings as code."""
    lines[:] = [re.sub(r":term:`([^`]+)`", r"``\1``", line) for line in lines]


def _link_to_pages(app, document, source):
    """Convert links to files of the repository, and include the files that are pages here too."""
    file = INCLUDED.get(f"{document}.md")
    if file:
        source[0] = (Path(__file__).parent / file).read_text(encoding="utf-8")
    for file, page in PAGES.items():
        source[0] = source[0].replace(f"]({file}", f"]({page}")
    source[0] = re.sub(r"\]\(\.\./examples/(plot_\w+)\.py\)", r"](gallery/\1.rst)", source[0])
    # The blank line that ends a doctest in a document is not part of the example.
    source[0] = re.sub(r"\n\n( *```\n)", r"\n\1", source[0])


# Pages that list other pages have a hidden table of contents, in the order of the links in lists
# and tables. A code host would show the directive as code.
CONTENTS = {"guide", "recipes/index", "troubleshooting/index", "coming_from/index"}
TOCTREE = "\n\n```{{toctree}}\n:hidden:\n\n{}\n```\n"


def _add_contents(app, document, source):
    if document in CONTENTS:
        rows = "\n".join(re.findall(r"(?m)^(?:- |  |\| ).*", source[0]))
        links = dict.fromkeys(re.findall(r"\]\((\w+)\.md\)", rows))
        source[0] += TOCTREE.format("\n".join(links))


LISTED = runpy.run_path(str(Path(__file__).parent / "messages.py"))["listed"]


def _add_messages(app, document, source):
    """The pages on troubleshooting end with all messages on their topics, read from the code."""
    source[0] = re.sub(r"<!-- messages: (.+?) -->", lambda mark: LISTED(mark[1]), source[0])


def setup(app):
    """Register the functions above."""
    from sphinx.ext import autosummary

    # A full stop after these abbreviations does not end the first sentence of a docstring.
    autosummary.WELL_KNOWN_ABBREVIATIONS += ("eq.", "ref.")
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.connect("source-read", _link_to_pages)
    app.connect("source-read", _add_contents)
    app.connect("source-read", _add_messages)
    app.connect("autodoc-process-docstring", _show_foreign_terms, priority=400)
    app.connect("autodoc-process-docstring", _set_formula, priority=400)  # before numpydoc

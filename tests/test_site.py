"""The site lists every public name and formula. CI checks that it builds without warnings."""

import importlib
import inspect
import pkgutil
import re
import runpy
from itertools import pairwise
from pathlib import Path

import pytest
from engine_libraries import library
from markdown_it import MarkdownIt

import skgraded as sg

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
# Modules from which users import; all other modules provide objects to these modules. A recipe
# describes ir_measures, which has the same names as the measures.
DOORS = sorted(
    {name for _, name, _ in pkgutil.iter_modules(sg.__path__) if not name.startswith("_")}
    - {"boosting", "cli", "ir_measures", "judgments", "stats", "tools", "writing"}
)


def entries():
    """Return the names that each page of the API lists."""
    return {
        page.stem: re.findall(r"(?m)^   (skgraded\.\S+)$", page.read_text(encoding="utf-8"))
        for page in (DOCS / "api").glob("*.rst")
    }


def object_of(name):
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)


def public_names(module):
    """Return the names in `__all__`, or the public names that the module defines."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return listed
    return [
        name
        for name, value in vars(module).items()
        if getattr(value, "__module__", None) == module.__name__ and not name.startswith("_")
    ]


# Modules that need a library, which may be missing.
ENGINES = {"dask": "dask", "spark": "pyspark"}


@pytest.mark.parametrize("room", ["", *DOORS])
def test_every_public_name_is_on_a_page_of_the_api(room):
    if room in ENGINES:
        library(ENGINES[room])
    shown = [
        object_of(name)
        for names in entries().values()
        for name in names
        if name.split(".")[1] in {room, *DOORS, *sg.__all__} - (ENGINES.keys() - {room})
    ]
    module = importlib.import_module(f"skgraded.{room}".rstrip("."))
    names = public_names(module)
    assert names
    missing = [
        name
        for name in names
        if not inspect.ismodule(getattr(module, name))
        and not any(getattr(module, name) is listed for listed in shown)
    ]
    assert not missing, f"list them in a page of docs/api: {missing}"


def test_names_are_listed_once_and_the_index_contains_every_page():
    pages = entries()
    names = [name for names in pages.values() for name in names]
    assert len(names) == len(set(names)) > 70
    index = (DOCS / "api" / "index.rst").read_text(encoding="utf-8")
    assert sorted(re.findall(r"(?m)^ +(\w+)$", index)) == sorted(set(pages) - {"index"})


def test_every_measure_has_a_formula():
    pages = ("formulas.md", "user_models_and_pairs.md")
    page = "".join((DOCS / name).read_text(encoding="utf-8") for name in pages)
    sections = dict(re.findall(r"(?ms)^### (\w+)\n(.*?)(?=^##|\Z)", page))
    assert sorted(sections) == sorted(sg.measures.MEASURES)
    assert [name for name, text in sections.items() if "```math\n" not in text] == []


OBJECTS = {
    "skgraded.NDCNG": "class",
    "skgraded.compare": "function",
    "skgraded.measure": "function",
    "skgraded.datasets.join_run": "function",
    "skgraded.Summary.merge": "method",
    "skgraded.lightgbm.eval_metric": "function",
    "skgraded.catboost.eval_metric": "function",
}


@pytest.mark.parametrize(
    ("literal", "name"),
    [
        ("NDCNG@10", "skgraded.NDCNG"),
        ("sg.NDCNG(k=10)", "skgraded.NDCNG"),
        ('join_run(…, missing="count")', "skgraded.datasets.join_run"),
        ("Summary.merge", "skgraded.Summary.merge"),
        ("sg.measure", "skgraded.measure"),
        ("skgraded.lightgbm.eval_metric", "skgraded.lightgbm.eval_metric"),
        ("measure", None),  # a parameter
        ("eval_metric", None),  # two functions
        ("ndcng@10", None),
        ("merge", None),
        ("GridSearchCV", None),
        ("compare + NDCNG", None),
    ],
)
def test_a_literal_links_to_the_object_that_it_names(literal, name):
    object_named = runpy.run_path(str(DOCS / "api_links.py"))["object_named"]
    assert object_named(literal, OBJECTS) == name


# Links -------------------------------------------------------------------------------------------

PAGES = [
    path
    for folder in (ROOT, ROOT / "docs", ROOT / "benchmarks", ROOT / "conformance")
    for path in (folder.glob("*.md") if folder == ROOT else folder.rglob("*.md"))
    if "_build" not in path.parts
]


def tokens_of(page):
    """Return the tokens of a Markdown file, as a code host reads it."""
    parser = MarkdownIt("commonmark").enable("table")
    return parser.parse(page.read_text(encoding="utf-8"))


def links_of(page):
    """Return pairs (text, target) of the links and pictures in a Markdown file."""
    links = []
    for token in tokens_of(page):
        children = token.children or []
        for i, child in enumerate(children):
            if child.type == "link_open":
                end = next(j for j in range(i, len(children)) if children[j].type == "link_close")
                text = "".join(part.content for part in children[i + 1 : end])
                links.append((text, child.attrs["href"]))
            elif child.type == "image":
                links.append((child.content, child.attrs["src"]))
    return links


def anchors_of(page):
    """Return the anchors of the headings of a Markdown file, as code hosts and the site form them."""
    tokens = tokens_of(page)
    headings = [
        "".join(child.content for child in after.children)
        for token, after in pairwise(tokens)
        if token.type == "heading_open"
    ]
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_have_text_and_lead_to_files_and_headings(page):
    for text, target in links_of(page):
        assert text.strip(), f"{target} has no text"
        path, _, anchor = target.partition("#")
        # Sphinx creates the pages of the gallery and of the API.
        if "://" in target or path.startswith(("gallery/", "api/")):
            continue
        linked = page.parent / path if path else page
        assert linked.exists(), f"{target} does not exist"
        assert not anchor or anchor in anchors_of(linked), f"{target} is not a heading"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_code_host_shows_no_directives_or_roles_as_code(page):
    if page.name == "index.md" and page.parent == DOCS:
        return  # the front page of the site
    for token in tokens_of(page):
        shown = token.info if token.type == "fence" else token.content
        assert not shown.startswith(("{", ":::")), shown
        assert token.type == "fence" or not re.search(r"\{\w+\}`", token.content), shown

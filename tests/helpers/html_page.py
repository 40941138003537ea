"""A parser of the HTML that reports write."""

import json
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "input"}
SVG = {"line", "circle", "path"}


def one_line(text):
    return " ".join(text.split())


class Page(HTMLParser):
    """Elements, texts and tables of HTML; fails if an element is not closed."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.texts, self.open = [], [], []
        self.tables = []  # one list of rows of cell texts per table
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_startendtag(self, tag, attributes):
        assert tag in SVG
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        self.texts.append((tuple(self.open), text))
        if {"td", "th"} & set(self.open):
            row = self.tables[-1][-1]
            row[-1] = one_line(f"{row[-1]} {text}")

    def all(self, tag):
        """The attributes of all elements with this tag."""
        return [attributes for name, attributes in self.elements if name == tag]

    def text(self, *tags):
        """The text in elements of these tags, or all text, with single spaces."""
        texts = (text for open_tags, text in self.texts if not tags or set(tags) & set(open_tags))
        return one_line(" ".join(texts))

    def rows(self, *headings):
        """The cells below these headings, for each row of the tables that have all of them."""
        return [
            [row[names.index(heading)] for heading in headings]
            for names, *rows in filter(None, self.tables)
            if set(headings) <= set(names)
            for row in rows
        ]

    @property
    def data(self):
        """The data for the script."""
        (text,) = [text for tags, text in self.texts if tags[-1:] == ("script",) and text[0] == "{"]
        return json.loads(text)

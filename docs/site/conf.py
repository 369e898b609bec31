"""Sphinx' settings for the site."""

import warnings
from collections.abc import Iterator
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

from pygments import highlight
from pygments.formatters.html import HtmlFormatter
from pygments.lexers import get_lexer_for_filename
from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer

import privity

ROOT = Path(__file__).resolve().parents[2]

project = "Privity"
author = "The Privity authors"
version = release = installed("privity")
project_copyright = author
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]

myst_heading_anchors = 4
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
napoleon_use_rtype = False
highlight_language = "text"
suppress_warnings = ["misc.highlighting_failure"]

html_theme = "pydata_sphinx_theme"
html_title = "Privity"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_search_summary = False  # it would fetch pages, which a browser refuses to a site that was opened from disk
html_theme_options = {
    "logo": {"text": "Privity"},
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "header_links_before_dropdown": 8,
    "navigation_with_keys": False,
    "show_nav_level": 1,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "back_to_top_button": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars: dict[str, list[str]] = {"index": [], "glossary": [], "code/**": [], "gallery/*_*": []}


def code_pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """A page for each file of the repository that a page of the site links to, with an anchor for each line."""
    for name in (Path(app.srcdir).parent / "linked.txt").read_text(encoding="utf-8").split():
        text = (ROOT / name).read_text(encoding="utf-8")
        shape: HtmlFormatter[str] = HtmlFormatter(linenos="inline", lineanchors="L", cssclass="highlight")
        lexer = get_lexer_for_filename(name)
        body = f"<h1><code>{name}</code></h1>\n{highlight(text, lexer, shape)}"
        yield f"code/{name}", {"title": name, "body": body, "theme_show_toc_level": 0}, "page.html"


def order_members() -> None:
    """Let Sphinx order members by the source, which it looks for in the module that a public class says is its home."""
    public = ModuleAnalyzer.for_module(privity.__name__)
    public.analyze()
    for home in vars(privity)["_HOMES"]:
        module = ModuleAnalyzer.for_module(f"privity.{home}")
        module.analyze()
        public.tagorder |= module.tagorder


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    order_members()
    warnings.simplefilter("ignore", DeprecationWarning)
    app.connect("html-collect-pages", code_pages)

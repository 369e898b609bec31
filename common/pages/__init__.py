"""Pages for people: one HTML file each, which needs no network, no script and no colour."""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

_templates = Environment(
    loader=PackageLoader(__name__, "."),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def read_all() -> None:
    """Read every template: pages that follow are quick, and a template that cannot be read shows at once."""
    for name in _templates.list_templates(extensions=["j2"]):
        _templates.get_template(name)


def render(template: str, **context: Any) -> str:
    """The page that a template of this package gives; every value is escaped.

    Raises:
        jinja2.UndefinedError: a value that the template needs is not given.
    """
    return _templates.get_template(template).render(**context)

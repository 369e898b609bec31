"""Pages for people: one HTML file each, which needs no network, no script and no colour."""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from privity.common.visible import in_lines


def _visible(value: object) -> object:
    """A text without signs that act or cannot be seen; pictures are texts, too."""
    return type(value)(in_lines(value)) if isinstance(value, str) else value


_templates = Environment(
    loader=PackageLoader(__name__, "."),
    autoescape=True,
    finalize=_visible,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def read_all() -> None:
    """Read every template: pages that follow are quick, and a template that cannot be read shows at once."""
    for name in _templates.list_templates(extensions=["j2"]):
        _templates.get_template(name)


def render(template: str, **context: Any) -> str:
    """The page that a template of this package gives; every value is escaped, and visible (``privity.common.visible``).

    Raises:
        jinja2.UndefinedError: a value that the template needs is not given.
    """
    return _templates.get_template(template).render(**context)

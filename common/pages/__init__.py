"""Pages for people: one HTML file each, which needs no network, no script and no colour."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from privity.common.text.visible import in_lines

if TYPE_CHECKING:
    from jinja2 import Environment


def _visible(value: object) -> object:
    """A text without signs that act or cannot be seen; pictures are texts, too."""
    return type(value)(in_lines(value)) if isinstance(value, str) else value


@cache
def _templates(package: str) -> Environment:
    """The templates of a package, on the page that all share."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader(__name__, ".")]),
        autoescape=True,
        finalize=_visible,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def read_all(package: str) -> None:
    """Read every template: pages that follow are quick, and a template that cannot be read shows at once."""
    for name in _templates(package).list_templates(extensions=["j2"]):
        _templates(package).get_template(name)


def style() -> str:
    """The style sheet that all pages share."""
    return files(__name__).joinpath("style.css").read_text(encoding="utf-8")


def render(package: str, template: str, **context: Any) -> str:
    """Return the page that a template in the package's folder ``templates`` gives.

    Every value is escaped, and made visible (``privity.common.text.visible``).

    Raises:
        jinja2.UndefinedError: a value that the template needs is not given.
    """
    return _templates(package).get_template(template).render(**context)

"""The home of the names that ``from privity import`` gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Named = TypeVar("Named", bound=Callable[..., Any])


def public(named: Named) -> Named:
    """Let a class or function say ``privity`` as its module: in a repr, in a traceback, and in a pickle.

    So its file may move. Only ``inspect.getsource`` of such a class itself finds nothing; of its methods it works.
    """
    # Not in the body of the class: from Python 3.13 on, its line number would then be taken for one of privity itself.
    named.__module__ = "privity"
    return named

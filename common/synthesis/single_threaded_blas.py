"""Linear algebra on one thread at a time: where cores are shared its threads wait for each other.

Work that comes in many blocks is better shared out by blocks (docs/performance.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread for a while, in a process that is not ours."""
    with _limited():
        yield


def keep_one_blas_thread() -> None:
    """Hold it for good, before a node begins.

    The number is the process's: of two fits at once the one that ends first would give the other a second thread, with
    which its sums are rounded otherwise, and a replay would be another model.
    """
    _limited()


def _limited() -> threadpool_limits:
    import scipy.linalg  # noqa: F401  # its BLAS is another than numpy's, and must be loaded to be held

    return threadpool_limits(limits=1, user_api="blas")

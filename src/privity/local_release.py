"""The release of a fit: one owner's rows, published as ``privity synthesize`` does."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from privity.common.protocol.session import complete
from privity.common.release.release_contents import Release
from privity.common.release.report.report_page import write_with_report
from privity.common.release.session_release import ALONE, release_of, synthesised
from privity.local_learner import LocalLearner


def publish(
    fit: LocalLearner, out: Path, rows: int | None = None, automatic: Mapping[str, Any] | None = None
) -> Release:
    """Draw the rows of a release, and write it; at no charge besides that of the fit.

    Args:
        fit: of this process.
        rows: how many; by default as many as are taken to be in the table.
        automatic: why this algorithm was chosen, if nobody asked for it.
    """
    session = fit.fitted.session
    assert session is not None
    found = complete(synthesised(session, fit.model_, rows, lambda: secrets.randbits(64)))
    asked = {
        "algorithm": fit.algorithm_,
        **({"automatic": automatic} if automatic else {}),
        "settings": fit.settings,
        "epsilon": str(fit.epsilon),
        "delta": str(fit.delta),
    }
    release = release_of(session, found, tolerate=0, protection=None, of_run={**asked, **ALONE}, of_statement={})
    write_with_report(out, release, found.synthetic)
    return release

"""The release of a fit: one owner's rows, published as ``privity synthesize`` does.

What is learnt is written at once, and is a release; then rows are drawn, and finish it.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privity.common.errors import Catalogue, PrivityError
from privity.common.formats.given_values import bad_option
from privity.common.protocol.session import complete
from privity.common.release.release_contents import Release
from privity.common.release.release_folder import write_learnt
from privity.common.release.report.report_page import write_with_report
from privity.common.release.session_release import ALONE, release_of, synthesised
from privity.common.release.synthetic_rows import Synthesis
from privity.given import Schema, Table
from privity.local_learner import Fitted, LocalLearner


@dataclass(frozen=True)
class Publication:
    """What is published of a fit.

    Attributes:
        out: the folder to make.
        rows: how many; by default as many as are taken to be in the table.
        automatic: why this algorithm was chosen, if nobody asked for it, and the fit does not know it.
    """

    fit: LocalLearner
    out: Path
    rows: int | None = None
    automatic: Mapping[str, Any] | None = None

    def learn(self, table: Table, schema: Schema, **columns: str | None) -> None:
        """Fit, and write what is learnt before anything else is done.

        Args:
            columns: those of persons and of their order, as of a fit.

        Raises:
            ProblemsFound, PrivityError: as of every fit; release-unfinished: it failed after the model was learnt, and
                where that is: in another folder, if this one cannot be written.
        """
        self.fit._when_learnt = self._keep
        try:
            with self._told():
                LocalLearner.fit(self.fit, table, schema, **columns)
        finally:
            self.fit._when_learnt = None

    def finish(self) -> Release:
        """Draw the rows of what was learnt, and write them; at no charge.

        Raises:
            PrivityError: release-unfinished; bad-option: another process fitted it.
        """
        fitted = self.fit.fitted
        if fitted.session is None:
            reason = "another process fitted it, and what a release says of the run stayed there"
            raise bad_option("fit", reason, "Publish where it is fitted: fit(..., out=FOLDER), or release(FOLDER).")
        with self._told():
            if not self.out.exists():
                self._keep(fitted)
            found = complete(synthesised(fitted.session, fitted.model, self.rows, lambda: secrets.randbits(64)))
            release = self._release(fitted, found.synthetic)
            write_with_report(self.out, release, found.synthetic)
        return release

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Whatever fails once what was learnt is kept says where it is."""
        try:
            yield
        except KeyboardInterrupt:
            if not self.out.exists():
                raise
            raise KeyboardInterrupt(_unfinished(self.out, "it was interrupted").message) from None
        except Exception as error:
            told = isinstance(error, PrivityError) and error.kind is Catalogue.RELEASE_UNFINISHED
            if told or not self.out.exists():
                raise
            raise _unfinished(self.out, f"{type(error).__name__}: {error}") from error

    def _keep(self, fitted: Fitted) -> None:
        """Write what was learnt to its folder; to one for scratch files if that fails, which is told."""
        try:
            write_learnt(self.out, self._release(fitted))
        except Exception as error:
            elsewhere = Path(tempfile.mkdtemp(prefix="privity-release-")) / "release"
            write_learnt(elsewhere, self._release(fitted))
            raise _unfinished(elsewhere, f"{self.out} cannot be written ({error})") from error

    def _release(self, fitted: Fitted, synthetic: Synthesis | None = None) -> Release:
        assert fitted.session is not None
        asked = {
            "algorithm": fitted.algorithm,
            **({"automatic": automatic} if (automatic := self.automatic or fitted.automatic) else {}),
            "settings": self.fit.settings,
            "epsilon": str(self.fit.epsilon),
            "delta": str(self.fit.delta),
        }
        return release_of(
            fitted.session, fitted.model, synthetic,
            tolerate=0, protection=None, of_run={**asked, **ALONE}, of_statement={},
        )  # fmt: skip


def _unfinished(release: Path, reason: str) -> PrivityError:
    return PrivityError(Catalogue.RELEASE_UNFINISHED, file=release, reason=reason)

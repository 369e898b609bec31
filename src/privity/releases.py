"""``Release``: what a run published, as objects. Nothing here costs anything: all of it is public."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from privity import given
from privity.answers import Answers, Function, analyses_table, asked, supported
from privity.common.data import schema as declared
from privity.common.data.written_values import as_pandas
from privity.common.errors import Catalogue, PrivityError, ProblemsFound
from privity.common.formats.given_values import bad_option
from privity.common.privacy.exact_numbers import ExactNumber
from privity.common.public_names import public
from privity.common.release.queries.estimator import Estimator
from privity.common.release.queries.evidence import Evidence
from privity.common.release.queries.support import Support
from privity.common.release.release_contents import EVENTS, LARGEST_FILES, REPORT, SYNTHETIC
from privity.common.release.release_folder import read_release, verify_release
from privity.common.release.report.overview import Overview, overview_of
from privity.common.release.report.report_page import pictures_page, report_page, summary_fragment
from privity.common.release.rows_file import read_decoded
from privity.common.release.shortcomings import constraint_notes, fallback, notes
from privity.common.release.statement import headline, whole_loss
from privity.common.release.verification.release_verification import check_release, check_signed_release
from privity.common.storage.safe_files import appearing, read_regular, refuse_existing
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.synthesis.models import Model
from privity.common.text.first_few import first_few
from privity.common.text.short_values import shorten
from privity.html import Page
from privity.marginals import Marginals
from privity.release_sources import OwnFolder, fetch_release, is_url, shown
from privity.sampled_rows import WARNING, rows_of, sampled, sampled_histories
from privity.schemas import Schema
from privity.summaries import Shown, Summary

if TYPE_CHECKING:
    import pandas as pd

    from privity.evaluations import Evaluation


class Loss(NamedTuple):
    """What a run cost one person of a party, exactly."""

    epsilon: ExactNumber
    delta: ExactNumber


class Statement(Shown):
    """The privacy statement of a release (``privacy.json``): who is protected against whom, and how well.

    Attributes:
        document: all of it, as it was published.
    """

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document

    @property
    def epsilon(self) -> ExactNumber:
        """What the release cost a person, at most; an exact number, ``float`` gives a rounded one."""
        return ExactNumber(whole_loss(self.document)[0])

    @property
    def delta(self) -> ExactNumber:
        """The same for delta."""
        return ExactNumber(whole_loss(self.document)[1])

    @property
    def sentences(self) -> tuple[str, ...]:
        """The guarantee in words."""
        return tuple(self.document["in_words"])

    @property
    def parties(self) -> dict[str, Loss]:
        """What the release cost a person of each party."""
        return {
            party["name"]: Loss(ExactNumber(party["epsilon_per_person"]), ExactNumber(party["delta_per_person"]))
            for party in self.document["parties"]
        }

    @property
    def table(self) -> pd.DataFrame:
        """A line a party: its rows, and its figures as floats."""
        import pandas as pd

        keys = ("epsilon_per_person", "delta_per_person", "epsilon_per_row", "delta_per_row")
        return pd.DataFrame(
            {
                "party": party["name"],
                "rows": party["rows"],
                "rows_per_person": party["rows_per_person"],
                **{key: float(Fraction(party[key])) for key in keys},
            }
            for party in self.document["parties"]
        )

    def _summary(self) -> Summary:
        return Summary(headline(self.document), notes=self.sentences, table=self.table)


@public
class Release(Shown):
    """A release, all of which is checked before anything of it is shown.

    It pickles with all of its files. Unpickled, it is checked again.

    Args:
        source: its folder, or a ZIP file of it: a path, or a URL (https; on this machine http will do).

    Raises:
        ProblemsFound: every fault at once: missing, altered or malformed files, and what does not fit together.
        PrivityError: file-missing, file-unreadable, connection-failed; tampered: it contains something foreign.
    """

    def __init__(self, source: Path | str) -> None:
        if not isinstance(source, Path | str):
            reason = f"{type(source).__name__} is neither a path nor a URL"
            hint = "Give the folder of a release, or its ZIP file, or the URL of either."
            raise PrivityError(Catalogue.BAD_OPTION, option="source", reason=reason, hint=hint)
        own = OwnFolder() if is_url(str(source)) or not Path(source).is_dir() else None
        if own is not None:
            fetch_release(str(source), own.path)
        self._open(shown(str(source)), Path(source) if own is None else own.path, own)

    def _open(self, source: str, folder: Path, own: OwnFolder | None, *, checked: bool = False) -> None:
        self.source, self._folder, self._own = source, folder.absolute(), own
        if not checked:
            self.verify()
        self._contents = read_release(self._folder)

    @classmethod
    def _of(cls, folder: Path, own: OwnFolder | None = None) -> Release:
        """The release in a folder that was checked when it was written; ``own`` goes with the object."""
        self = cls.__new__(cls)
        self._open("" if own else str(folder), folder, own, checked=True)
        return self

    def verify(self, root: Path | str | None = None, allow_missing: Collection[str] = ()) -> list[str]:
        """Check all of it again; returns what was checked, in sentences.

        Args:
            root: the file of the organiser's public key: says who signed the release, too, and whether all agree.
            allow_missing: names of parties whose signature need not be there.

        Raises:
            ProblemsFound: as the constructor; signatures that do not hold; not-signed.
            PrivityError: file-missing, file-unreadable: the root.
        """
        try:
            if root is None:
                return check_release(self._folder)
            return [*check_signed_release(self._folder, Path(root), allow_missing)]
        except ProblemsFound as error:
            ours, theirs = str(self._folder), self.source.rstrip("/") or "the release"
            raise ProblemsFound(
                replace(problem, file=problem.file.replace(ours, theirs)) for problem in error.problems
            ) from None

    @property
    def rows(self) -> pd.DataFrame:
        """The synthetic rows, of the types that ``sample`` gives; yours to change.

        Raises:
            PrivityError: release-unfinished: it has none; ``sample`` draws some.
        """
        return self._rows.copy()

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """The synthetic persons and their events, by the names of the two tables; yours to change.

        Raises:
            PrivityError: bad-option: it is of one table; release-unfinished.
        """
        history = self._contents.schema.history
        if history is None:
            raise bad_option("tables", "the release is of one table", "Use rows.")
        both = zip(history.names, ((SYNTHETIC, history.persons), (EVENTS, history.events)), strict=True)
        return {name: self._read(file, schema) for name, (file, schema) in both}

    @cached_property
    def _rows(self) -> pd.DataFrame:
        schema = self._contents.schema
        if schema.history is not None:
            raise bad_option("rows", "the release is of persons and their events", "Use tables, which has both.")
        return self._read(SYNTHETIC, schema)

    def _read(self, file: str, schema: declared.Schema) -> pd.DataFrame:
        verify_release(self._folder)
        self._require_rows()
        found = as_pandas(read_decoded(self._folder / file, schema), schema)
        found.attrs["privity"] = WARNING
        return found

    def _require_rows(self) -> None:
        if self._contents.unfinished:
            reason = "it ended before they were made"
            raise PrivityError(Catalogue.RELEASE_UNFINISHED, file=self._folder, reason=reason)

    @cached_property
    def marginals(self) -> Marginals:
        """The noisy marginals that were revealed, with their error bars."""
        variables = Fraction(self._contents.marginals["noise_variables"])
        return Marginals(self._contents.tables(), self._contents.schema, variables)

    @property
    def schema(self) -> Schema:
        """The attributes of the table, and their domains; a copy, which may be edited."""
        return Schema(self._contents.schema)

    @property
    def model(self) -> Model:
        """The model of which the rows were drawn."""
        return self._contents.model

    @property
    def statement(self) -> Statement:
        """The privacy statement."""
        return Statement(self._contents.privacy)

    @property
    def run(self) -> dict[str, Any]:
        """What the run was, and what it moved (``run.json``)."""
        return self._contents.run

    @property
    def scores(self) -> dict[str, Any] | None:
        """How the parties scored the table on their rows; None if they did not."""
        return self._contents.scores

    @property
    def analyses(self) -> pd.DataFrame | None:
        """Estimates of the regressions that the run declared, a row for each term; None if it declared none.

        Columns: the formula and the term (the index), ``value`` with the ends ``low`` and ``high`` of its 95 %
        interval, the standard errors of ``sampling``, ``noise`` and ``model``, and ``synthetic``: what the synthetic
        rows say. A regression that this release cannot have is left out; the report has the reason.
        """
        return None if self._contents.analyses is None else analyses_table(self._contents.analyses)

    @cached_property
    def _overview(self) -> Overview:
        return overview_of(self._folder)

    @property
    def report(self) -> Page:
        """The report, which a notebook shows; of an unfinished release, which has none, one that is made now."""
        verify_release(self._folder)
        if self._contents.unfinished:
            return Page(report_page(self._overview))
        return Page((self._folder / REPORT).read_text(encoding="utf-8"))

    def plot(self, *attributes: str) -> Page:
        """Pictures of attributes, all if none is named: the synthetic shares, and the measured ones with error bars.

        Of several that are named also a picture of each pair.

        Raises:
            PrivityError: bad-option: there is no such attribute.
        """
        names = self._contents.schema.names
        if unknown := [name for name in attributes if name not in names]:
            hint = f"Give some of: {first_few(list(names))}."
            raise bad_option("attributes", f"{shorten(str(unknown[0]))} is none of the release", hint)
        chosen = [names.index(name) for name in attributes or names]
        return Page(pictures_page(self._overview, chosen, pairs=bool(attributes)))

    def evaluate(
        self,
        real: given.Table,
        *,
        control: given.Table | None = None,
        targets: str | Sequence[str] = (),
        drop: str | Sequence[str] = (),
        attacks: int = 500,
        quick: bool = False,
    ) -> Evaluation:
        """Compare the synthetic rows with the real ones (docs/evaluation.md).

        What it finds is not private: data owner only, do not publish. It costs nothing.

        Args:
            real: the real rows: a table in memory, a path or an address.
            control: real rows that had no part in the release, for attacks and for tests of predictions.
            targets: what models predict: ``"income"``, or ``"income=>50K"``; by default what is usual.
            drop: attributes that models do not see.
            attacks: how often each attack is tried.
            quick: a first answer, from a part of the rows.

        Raises:
            RowProblemsFound: rows that do not fit the schema of the release: for the owner's eyes, too.
            PrivityError: release-unfinished: it has no rows; bad-option.
        """
        from privity.evaluations import evaluated  # with the libraries that it brings

        self._require_rows()
        return evaluated(self._folder, real, control, targets, drop, attacks, quick=quick)

    def sample_histories(self, n: int | None = None, seed: int | None = None, **how: Any) -> dict[str, pd.DataFrame]:
        """``n`` more persons and their events, by the names of both tables (``SavedModel.sample_histories``)."""
        n = rows_of(self._contents) if n is None else n
        return sampled_histories(self.model, n, seed, **how)

    def sample(
        self,
        n: int | None = None,
        seed: int | None = None,
        where: Mapping[str, object] | None = None,
        *,
        dtypes: Mapping[str, Any] | None = None,
        skip_keys: int = 0,
        independent: bool = False,
    ) -> pd.DataFrame:
        """``n`` more rows of the model, at no cost, that meet the rules of the schema; the seed decides them.

        Args:
            n: by default as many as the release has.
            where, dtypes, skip_keys, independent: as of ``SavedModel.sample``, with the same errors.
        """
        n = rows_of(self._contents) if n is None else n
        return sampled(self.model, n, seed, where, dtypes=dtypes, skip_keys=skip_keys, independent=independent)

    def query(
        self,
        statistic: str | Function,
        about: str | Sequence[str] | None = None,
        *,
        where: Mapping[str, object] | None = None,
        given: Mapping[str, object] | None = None,
        by: str | None = None,
        compare: str | None = None,
        at: float | None = None,
        level: float = 0.95,
        target: str = "population",
        extrapolate: bool = False,
        midpoints: bool = False,
        weights: str | None = None,
    ) -> Answers:
        """Estimates with valid intervals, from what was measured; at no cost (docs/statistics.md).

        Args:
            statistic: count, share, mean, quantile, crosstab, correlation, linear or logistic; or a smooth function of
                the table of probabilities over ``about``, whose axes are in that order.
            about: attributes, or the formula of a regression: ``"income ~ age + C(region)"``.
            where: what is counted by a count or share: conditions as of ``sample``.
            given: only rows that meet these conditions count.
            by: an attribute: one answer for each of its values.
            compare: ``"difference"`` or ``"ratio"`` of each group and the first one.
            at: of a quantile, between 0 and 1; the median by default.
            level: 0.9, 0.95 or 0.99.
            target: ``"population"`` from which the rows were sampled, or these ``"rows"``.
            extrapolate: whether the model may tell of pairs that nothing measured; the interval has its error.
            midpoints: whether numbers count as the middle of their bins.
            weights: a survey weight: it is refused, with the reason.

        Raises:
            ProblemsFound: conditions that no row can meet, or that name what there is not.
            PrivityError: not-supported: nothing measured what is asked for; bad-option.
        """
        others = {"by": by, "compare": compare, "at": at, "level": level, "target": target}
        more = {"extrapolate": extrapolate, "midpoints": midpoints, "weights": weights}
        return asked(self._estimator, statistic, about, where, given, **others, **more)

    def support(self, *attributes: str) -> Support:
        """How far these attributes were measured together, before one asks about them.

        Raises:
            PrivityError: bad-option: no attribute, or one that there is not.
        """
        return supported(self._estimator, attributes)

    @cached_property
    def _estimator(self) -> Estimator:
        return Estimator(Evidence.of(self._contents))

    def save(self, path: Path | str) -> None:
        """Write the release as a new folder, as it was published.

        Raises:
            PrivityError: bad-option: there is something already.
        """
        refuse_existing(Path(path), "path")
        verify_release(self._folder)
        with appearing(Path(path).absolute()) as scratch:
            shutil.copytree(self._folder, scratch)

    def _summary(self) -> Summary:
        run, parties = self.run, self._contents.privacy["parties"]
        why = f" ({run['automatic']['reason']})" if run.get("automatic") else ""
        settings = "".join(f", {name} = {value}" for name, value in run["settings"].items())
        names = [f"{party['name']} ({party['rows']:,} rows)" for party in parties]
        facts = (
            ("rows", "none: unfinished, sample(n) draws some" if self._contents.unfinished else f"{run['rows']:,}"),
            ("attributes", f"{len(self._contents.schema.names)}: {', '.join(self._contents.schema.names)}"),
            ("algorithm", run["algorithm"] + settings + why),
            ("parties", first_few(names)),
            ("noisy marginals", f"{len(self.marginals):,}"),
            ("source", self.source or "a folder that goes with this object: save(path) keeps it"),
        )
        known = ALGORITHMS.get(run["algorithm"])
        said = [
            headline(self._contents.privacy),
            *fallback(self._contents.marginals["inference"]),
            *notes(self.model, joins=known is not None and known.joins),
            *constraint_notes(run),
        ]
        return Summary(f"Release of {run['run']}", facts, tuple(said))

    def _repr_html_(self) -> str:
        return summary_fragment(self._overview)

    def __getstate__(self) -> dict[str, Any]:
        verify_release(self._folder)
        files = [path for name in LARGEST_FILES if (path := self._folder / name).is_file()]
        read = {path.name: read_regular(path, links=False, most=LARGEST_FILES[path.name]) for path in files}
        return {"source": self.source, "files": read}

    def __setstate__(self, state: dict[str, Any]) -> None:
        own = OwnFolder()
        for name in state["files"].keys() & LARGEST_FILES.keys():
            (own.path / name).write_bytes(state["files"][name])
        self._open(state["source"], own.path, own)

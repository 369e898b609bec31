"""A model that was learnt and charged before, for Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privity.arguments import as_arguments
from privity.common.formats.given_values import bad_option, whole_number
from privity.common.public_names import public
from privity.common.release.release_contents import MODEL
from privity.common.release.release_contents import Release as Contents
from privity.common.release.release_folder import read_release
from privity.common.release.statement import in_words
from privity.common.release.synthetic_rows import check_release_size
from privity.common.storage.safe_files import refuse_existing
from privity.common.synthesis.models import Model
from privity.common.synthesis.models import load_model as load
from privity.given import Schema, given_schema
from privity.local_release import publish
from privity.releases import Release
from privity.sampled_rows import rows_of, sampled, sampled_histories

if TYPE_CHECKING:
    import pandas as pd


@public
@dataclass(frozen=True)
class SavedModel:
    """A model that was learnt and charged before; sampling from it, and publishing it, cost nothing."""

    model: Model
    learnt: Contents = field(repr=False)

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
        """``n`` synthetic rows that meet the rules of the schema; the seed decides them.

        Args:
            n: by default as many as the release has; without rows yet, as many as the real table is taken to have.
            where: conditions on columns: a value, several in a list, or values by their relation, such as
                ``{"age": {">=": 18, "<": 65}}``. They are read as those of a table are; None is a missing value.

            dtypes: types of columns in pandas, such as ``real.dtypes``; others have those that the schema gives them.
            skip_keys: how many numbers other tables have as keys: ``generate: number`` goes on after them.
            independent: whether rows are drawn one by one, so that counts vary as those of a sample do. By default
                they are drawn together, and counts are nearer to the model.

        Raises:
            ProblemsFound: a column or a value that does not exist; conditions that no row can meet, or that a rule
                forbids.
            PrivityError: too-rare: the model has hardly any such rows; bad-option: an argument that is not possible.
        """
        n = rows_of(self.learnt) if n is None else n
        return sampled(self.model, n, seed, where, dtypes=dtypes, skip_keys=skip_keys, independent=independent)

    def sample_histories(
        self,
        n: int | None = None,
        seed: int | None = None,
        where: Mapping[str, object] | None = None,
        *,
        skip_keys: int = 0,
        independent: bool = False,
    ) -> dict[str, pd.DataFrame]:
        """``n`` synthetic persons and their events, by the names of the two tables; the seed decides them.

        Args:
            n: by default as many persons as the release has, or the real table is taken to have.
            where: conditions on columns of persons, as of ``sample``.
            skip_keys, independent: as of ``sample``.

        Raises:
            ProblemsFound, PrivityError: as ``sample``; bad-option: the model is of one table.
        """
        n = rows_of(self.learnt) if n is None else n
        return sampled_histories(self.model, n, seed, where, skip_keys=skip_keys, independent=independent)

    def release(self, folder: Path | str, rows: int | None = None) -> Release:
        """Publish what was learnt as a folder, at no further charge.

        Args:
            folder: to make: synthetic rows, report, privacy statement, noisy marginals, model, schema.
            rows: of the synthetic table; by default as many as are taken to be in the real one.

        Raises:
            PrivityError: bad-option: there is something already, or it is published; release-unfinished: the folder has
                what was learnt, and no rows.
        """
        number = None if rows is None else whole_number("rows", rows, 1)
        if not self.learnt.unfinished:
            raise bad_option("model", "it is of a release, which has its rows", "Use that; sample(n) draws more.")
        if self.learnt.run["secure_sum"] is not None:
            reason = "it is of several owners, whose nodes sign what they release"
            raise bad_option("model", reason, "Use sample(n), which draws rows at no cost.")
        if self.model.schema.table_schema() != self.learnt.schema.table_schema():
            reason = "it was learnt and paid for under another schema than the one that it was loaded with"
            raise bad_option("model", reason, "Load it without a schema: load_model(FOLDER).release(...).")
        with as_arguments():
            check_release_size(number or 0, self.model.schema)
        refuse_existing(Path(folder), "folder")
        # The sentences are those of the figures, whatever the file has.
        words = in_words(self.learnt.privacy, len(self.learnt.privacy["observers"]) > 1)
        learnt = replace(self.learnt, privacy={**self.learnt.privacy, "in_words": words})
        publish(lambda: learnt, Path(folder), number)
        return Release(folder)


@public
def load_model(folder: Path | str, schema: Schema | None = None) -> SavedModel:
    """Read what a fit saved, or the model of any release.

    Args:
        folder: of the release, or the ``model.json`` in it.
        schema: one with other rules; by default that of the release.

    Raises:
        PrivityError, ProblemsFound: a file is not as it was written, or the schema does not fit the model.
    """
    if not isinstance(folder, Path | str):
        raise bad_option("folder", f"a {type(folder).__name__} is no path", "Give the folder that a fit was saved in.")
    place = Path(folder)
    learnt = read_release(place.parent if place.name == MODEL else place)
    model = learnt.model
    if schema is not None:
        model = load.load_model(model.to_dict(), given_schema(schema), MODEL)
    return SavedModel(model, learnt)

"""Spark: its SQL codes the rows, and its workers sum over them what is asked, each over some of the rows."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from privity.common.data import marginal_counter
from privity.common.errors import Catalogue, PrivityError
from privity.party.sources import fingerprint, packed_codes, row_sums, spark_workers
from privity.party.sources.ibis_store import IbisStore, in_dialect
from privity.party.sources.packed_codes import taken_apart, word_sql, words
from privity.party.sources.pass_progress import polled
from privity.party.sources.row_sums import RowSums, Sums
from privity.party.sources.spark_workers import BYTES, SUMS, RepeatedPartError, added, packing, summing, unpacked
from privity.party.sources.sql_coding import quoted
from privity.party.sources.store import Codes
from privity.party.sources.store_columns import Column, Kind

SETTINGS = (
    "SET spark.sql.variable.substitute=false",  # ${...} in a text would be replaced
    "SET spark.sql.parser.escapedStringLiterals=false",
)
"""What makes a text in a statement mean what ibis writes it for, whatever the configuration says."""

SPLIT_METHODS = "SET spark.sql.codegen.hugeMethodLimit=8000"
"""The JIT of Java compiles no longer method, and coding makes one; Spark then writes several."""

COMPILES_LONG = "-XX:-DontCompileHugeMethods"

SENT = (marginal_counter, fingerprint, packed_codes, row_sums, spark_workers)
"""Modules whose functions are sent to the workers as they are."""

BINARY = "UTF8_BINARY"

WORKERS_PYTHON = "Install {module} for the Python of Spark's workers, which PYSPARK_PYTHON names."
REFUSED = (
    (r"No module named '?numpy", "the Python of its workers has no numpy", WORKERS_PYTHON.format(module="numpy")),
    (r"No module named '?pyarrow", "the Python of its workers has no pyarrow", WORKERS_PYTHON.format(module="pyarrow")),
    (
        "PYTHON_VERSION_MISMATCH", "its workers have another version of Python",
        "Let PYSPARK_PYTHON name a Python of the node's own minor version on the workers, such as python3.11.",
    ),
    (
        "reading the port number from pyspark.daemon", "the Python of its workers does not start",
        "Let PYSPARK_PYTHON name a Python of the node's own minor version on the workers, with numpy and pyarrow.",
    ),
    (
        "Cannot run program", "its workers find no Python",
        "Let PYSPARK_PYTHON name a Python that the workers have, with numpy and pyarrow.",
    ),
    (
        "maxResultSize", "Spark may not bring back so much at once",
        "Raise spark.driver.maxResultSize to 1g or more, in spark-defaults.conf.",
    ),
    (
        "SQLSTATE: 22", "a value is beyond the type of its column or of what is made of it",
        "Make a view whose columns have wider types, or that leaves such values NULL.",
    ),
    (
        "SQLSTATE: 42", "it has no such table, or does not let its rows be read",
        "See that Spark knows the table, and that the account may read it.",
    ),
)  # fmt: skip
"""By what an error of Spark says: what is wrong, and what to do about it."""

FAILED = "See the failed stage in Spark's own log. The node retries."


class SparkStore(IbisStore):
    """A ``Store`` that is ``Summing`` too.

    Raises:
        PrivityError: source-unreachable, source-refused.
    """

    def _set_up(self) -> None:
        from pyspark import cloudpickle  # ibis has loaded it

        for module in SENT:
            cloudpickle.register_pickle_by_value(module)
        for setting in SETTINGS:
            self._backend.raw_sql(setting)
        self._session = session = self._backend.raw_sql("SELECT 1").sparkSession
        local = session.conf.get("spark.master", "").startswith("local")
        options = session.conf.get(f"spark.{'driver' if local else 'executor'}.extraJavaOptions", "")
        if COMPILES_LONG not in options:
            # A managed Spark may not let it be set.
            with contextlib.suppress(Exception):
                self._backend.raw_sql(SPLIT_METHODS)
        if local and "PYSPARK_PYTHON" not in os.environ:
            with contextlib.suppress(Exception):  # over Spark Connect its server chooses
                session.sparkContext.pythonExec = sys.executable

    @cached_property
    def _collated(self) -> frozenset[str]:
        """Columns of texts that are compared in another way than byte by byte."""
        with self._asked() as backend:
            fields = self._frame(backend, f"SELECT * FROM {self.relation}").schema.fields
        return frozenset(f.name for f in fields if getattr(f.dataType, "collation", BINARY) != BINARY)

    def value(self, column: Column) -> str:
        name = quoted(column.name)
        collated = column.kind is Kind.TEXT and column.name in self._collated
        return f"({name} COLLATE {quoted(BINARY)})" if collated else name

    def batches(self, query: str, sizes: Sequence[int]) -> Iterator[list[Codes]]:
        bounds = [size + 1 for size in sizes]
        width = len(words(bounds))
        with self._asked() as backend:
            frame = self._words(backend, query, bounds).mapInArrow(packing, BYTES)
            for (packed,) in frame.toLocalIterator(prefetchPartitions=True):
                yield taken_apart(list(unpacked(packed, width)), bounds)

    def summed(self, query: str, sizes: Sequence[int], sums: RowSums) -> Sums:
        bounds = [size + 1 for size in sizes]
        with self._asked() as backend, polled(self._share):
            parts = self._words(backend, query, bounds).mapInArrow(summing(bounds, sums), SUMS)
            # Spark adds them up, so that what comes back does not grow with the number of partitions.
            whole = parts.groupBy("place").sum("n").mapInArrow(packing, BYTES)
            found = [packed for (packed,) in whole.collect()]
        try:
            return added(found, sums.length)
        except RepeatedPartError:
            reason = "a part of the rows came back more than once, or not at all"
            raise PrivityError(Catalogue.SOURCE_UNREACHABLE, source=self.name, reason=reason, hint=FAILED) from None

    def _share(self) -> float:
        """Of the tasks of the stages at work, how many have ended."""
        with contextlib.suppress(Exception):  # over Spark Connect nobody tells
            tracker = self._session.sparkContext.statusTracker()
            stages = [stage for number in tracker.getActiveStageIds() if (stage := tracker.getStageInfo(number))]
            return sum(stage.numCompletedTasks for stage in stages) / sum(stage.numTasks for stage in stages)
        return 0.0

    def _words(self, backend: Any, query: str, bounds: Sequence[int]) -> Any:
        """A data frame of the codes of rows as words; every code is below its bound."""
        made = (
            f"{word_sql([f'a{place}' for place in places], [bounds[place] for place in places])} AS w{number}"
            for number, places in enumerate(words(bounds))
        )
        return self._frame(backend, f"SELECT {', '.join(made)} FROM ({query}) AS coded")

    def _frame(self, backend: Any, query: str) -> Any:
        return backend.raw_sql(in_dialect(backend, query))

    def _failure(self, error: Exception, reason: str, kind: Catalogue) -> PrivityError:
        # What Spark says may quote values: it is searched, and never repeated.
        said = str(error)
        for sign, why, hint in REFUSED:
            if re.search(sign, said):
                return PrivityError(Catalogue.SOURCE_REFUSED, source=self.name, reason=why, hint=hint)
        if re.search("Job aborted|FAILED_READ_FILE|exception was thrown from the Python worker", said):
            reason = "some of its tasks fail, however often Spark tries them"
            return PrivityError(Catalogue.SOURCE_UNREACHABLE, source=self.name, reason=reason, hint=FAILED)
        return super()._failure(error, reason, kind)

    def close(self) -> None:
        super().close()
        with contextlib.suppress(ImportError):  # a client of Spark Connect alone has no Java
            from pyspark import SparkContext

            process = getattr(SparkContext._gateway, "proc", None)
            if process is not None and process.poll() is not None:
                # Java has ended: the next session needs another one.
                SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None

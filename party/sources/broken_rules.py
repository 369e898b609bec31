"""How many of an owner's rows break each rule: for the owner's screen, and nobody else's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from privity.common.data.computed_columns import columns_as_declared, with_computed
from privity.common.data.constant_columns import Constant
from privity.common.data.dialect import PLAIN, NumberMarks
from privity.common.data.frame_values import Value, read_value
from privity.common.data.made_columns import Total
from privity.common.data.row_constraints import RowConstraint
from privity.common.data.row_texts import disagreeing, of_values
from privity.common.data.schema import Schema
from privity.common.data.table_map import NO_MAP
from privity.common.data.table_reading import read_batches
from privity.common.data.unread_columns import UnreadColumn
from privity.party.sources.address import Address, Form
from privity.party.sources.open_rows import connect
from privity.party.sources.sql_coding import quoted
from privity.party.sources.store import Store
from privity.party.sources.store_columns import MOMENTS, Column

if TYPE_CHECKING:
    import pandas as pd

MOST_COMBINATIONS = 1 << 20
"""Of values of all attributes that a rule is about, in a store other than CSV."""


def broken_rows(address: Address, schema: Schema, memory: int) -> dict[str, int | None]:
    """For each rule, and each column that follows from others, how many rows break it or have another value.

    None if there are too many combinations of values to look at. A column that the table does not have is left out. The
    rows have been found to be in the domain. A number counts as it is written, not by its bin.

    Raises:
        PrivityError: source-unreachable, source-refused.
    """
    schema = address.read_by(schema)
    looked = [
        *(
            _Looked(f"Rule {rule.rule}", rule.attributes, partial(_refused, schema, rule))
            for rule in schema.row_constraints
        ),
        *(
            _Looked(f"Column {column.name}", (*column.made.sources, column.name), partial(_disagreeing, schema, column))
            for column in schema.unread
            if column.made is not None
        ),
    ]
    if not looked:
        return {}
    if address.form is Form.CSV:
        counts: dict[str, int | None] = {}
        in_words = replace(schema, table_map=NO_MAP)  # of what was read
        for file in address.files:
            for frame in read_batches(file, schema):
                for each in looked:
                    if each.in_table(in_words, list(map(str, frame.columns))):
                        counts[each.title] = (counts.get(each.title) or 0) + int(each.breaking(frame).sum())
        return counts
    store = connect(address, memory)
    try:
        return {
            each.title: _in_store(store, schema, each) for each in looked if each.in_table(schema, list(store.columns))
        }
    finally:
        store.close()


@dataclass(frozen=True)
class _Looked:
    """What is looked at in each row.

    Attributes:
        names: of attributes, and of a column that follows from them.
        breaking: which rows of a table's columns break it.
    """

    title: str
    names: tuple[str, ...]
    breaking: Callable[[pd.DataFrame], npt.NDArray[np.bool_]]

    def in_table(self, schema: Schema, there: Sequence[str]) -> list[str]:
        """The columns of the table that it needs; none if the table does not have them."""
        own = [name for name in self.names if name not in schema.names]
        read = schema.over([name for name in self.names if name in schema.names]).columns_read(there)
        found = list(dict.fromkeys((*read, *own)))
        return found if set(found) <= set(there) else []


def _in_store(store: Store, schema: Schema, looked: _Looked) -> int | None:
    import pandas as pd

    names = looked.in_table(schema, list(store.columns))
    texts = [f"{_text(store.columns[name])} AS t{i}" for i, name in enumerate(names)]
    keys = ", ".join(f"t{i}" for i in range(len(texts)))
    listed = f"SELECT {', '.join(texts)} FROM {store.relation}"
    query = (
        f"SELECT {keys}, CAST(COUNT(*) AS BIGINT) AS n FROM ({listed}) AS texts "
        f"GROUP BY {keys} LIMIT {MOST_COMBINATIONS + 1}"
    )
    rows = store.rows(query)
    if len(rows) > MOST_COMBINATIONS:
        return None
    frame = pd.DataFrame([[read_value(value) for value in row[:-1]] for row in rows], columns=names, dtype=object)
    times = np.array([int(row[-1]) for row in rows], dtype=np.int64)
    given = {str(name): list(frame[name]) for name in frame.columns}
    return int(times[looked.breaking(pd.DataFrame(columns_as_declared(schema, given), dtype=object))].sum())


def _text(column: Column) -> str:
    """SQL of a column's value: a date or time as it is, else its text."""
    return quoted(column.name) if column.kind in MOMENTS else f"CAST({quoted(column.name)} AS VARCHAR)"


def _columns(schema: Schema, frame: pd.DataFrame) -> Mapping[str, Sequence[Value]]:
    return with_computed({str(name): list(frame[name]) for name in frame.columns}, schema)


def _refused(schema: Schema, rule: RowConstraint, frame: pd.DataFrame) -> npt.NDArray[np.bool_]:
    import pandas as pd

    attributes = dict(zip(schema.names, schema.attributes, strict=True))
    columns = _columns(schema, frame)
    frame = pd.DataFrame({name: columns[name] for name in rule.attributes}, dtype=object)
    return rule.refused(of_values([rule], attributes, frame))


def _disagreeing(schema: Schema, column: UnreadColumn, frame: pd.DataFrame) -> npt.NDArray[np.bool_]:
    columns = dict(_columns(schema, frame))
    if isinstance(column.made, Total | Constant) and column.attribute.temporal is None and column.attribute.numeric:
        # It declares no marks of its own: those of the dialect hold, and a unit may stand beside the number.
        marks = NumberMarks(schema.dialect.decimal or PLAIN.decimal, schema.dialect.group or "", bare=False)
        columns[column.name] = [
            (marks.plain(value) or value) if isinstance(value, str) else value for value in columns[column.name]
        ]
    return disagreeing(column, columns, dict(zip(schema.names, schema.attributes, strict=True)))

"""Columns of a drafted schema that are two faces of one attribute, and the field that would say so."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

LEAST_CATEGORIES = 3
"""Two columns of two values are soon one-to-one by chance."""


def face_hints(fields: Sequence[Mapping[str, Any]], batches: Iterable[pd.DataFrame]) -> list[str]:
    """For each pair of columns that are one-to-one in every row what to declare; not private, like the draft.

    Args:
        batches: the table as texts.
    """
    drafted = {field["name"]: field for field in fields if len(field.get("categories", ())) >= LEAST_CATEGORIES}
    counts = {name: (len(f["categories"]), bool(f.get("missingValues"))) for name, f in drafted.items()}
    pairs: dict[tuple[str, str], tuple[dict[str, str], dict[str, str]]] = {
        (a, b): ({}, {}) for a, b in combinations(drafted, 2) if counts[a] == counts[b]
    }
    for frame in batches:
        for pair in list(pairs):
            for a, b in frame[list(pair)].drop_duplicates().itertuples(index=False):
                there, back = pairs[pair]
                if there.setdefault(a, b) != b or back.setdefault(b, a) != a:
                    del pairs[pair]
                    break
    found: list[str] = []
    followed: set[str] = set()
    for (a, b), (there, back) in pairs.items():
        # What a text stands for decides; a column follows from one other.
        base, other, values = (b, a, back) if drafted[b]["type"] == "string" != drafted[a]["type"] else (a, b, there)
        missing = [drafted[name].get("missingValues", []) for name in (base, other)]
        if followed & {base, other} or any((a in missing[0]) != (b in missing[1]) for a, b in values.items()):
            continue
        followed.add(other)
        named = {text: value for text, value in sorted(values.items()) if text not in missing[0]}
        field = {
            "name": other,
            "type": drafted[other]["type"],
            **({"missingValues": missing[1]} if missing[1] else {}),
            "lookup": {"field": base, "values": {text: _typed(drafted[other], v) for text, v in named.items()}},
        }
        found.append(
            f"{other} follows from {base} in every row. If that is by its meaning, it costs nothing: declare it as "
            f"{json.dumps(field, ensure_ascii=False)}"
        )
    return found


def _typed(field: Mapping[str, Any], text: str) -> Any:
    if field["type"] == "string":
        return text
    number = float(text)
    return int(number) if number.is_integer() else number

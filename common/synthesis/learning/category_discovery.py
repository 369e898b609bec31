"""Categories of texts that nobody declared: those that many rows of one owner have, before all else is learnt.

All other texts have one category together. What this costs: ``privity.common.privacy.category_budget``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from privity.common.data.attribute import Attribute
from privity.common.data.schema import Schema
from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy.budget import Budget
from privity.common.privacy.category_budget import category_budget
from privity.common.privacy.thresholded_counts import ThresholdedCounts
from privity.common.protocol.session import Session
from privity.common.text.first_few import first_few


def open_texts(schema: Schema) -> list[Attribute]:
    """The attributes whose categories are yet to be discovered."""
    return [attribute for attribute in schema.attributes if attribute.discover and not attribute.edges]


def check_delta(schema: Schema, delta: Fraction) -> None:
    """Refuse open texts where no delta is granted.

    Raises:
        PrivityError: bad-option.
    """
    if (texts := open_texts(schema)) and not delta:
        named = first_few([text.name for text in texts])
        reason = f"the categories of {named} are open, and to discover them takes a delta"
        hint = "Give one, such as 1e-6; or declare the categories, or leave the columns out."
        raise PrivityError(Catalogue.BAD_OPTION, option="delta", reason=reason, hint=hint)


def after_categories(schema: Schema, rows: int, budget: Budget) -> Budget:
    """What categories of so many rows leave of a budget: all of it where no text is open, or nothing is discovered."""
    if not (texts := open_texts(schema)) or not budget[1]:
        return budget
    left = category_budget(len(texts), *budget, rows=rows)
    return left.epsilon, left.delta


def discover_categories(session: Session, mechanism: ThresholdedCounts) -> Schema:
    """The session's schema with the categories that many rows have; what they cost is on the session's record."""
    found = session.categories([text.name for text in open_texts(session.schema)], mechanism)
    return session.discovered(with_categories(session.schema, found))


def with_categories(schema: Schema, found: Mapping[str, Sequence[str]]) -> list[Attribute]:
    """The open texts with these categories, besides the one for all others."""
    return [
        replace(text, discover=False, categories=(*found[text.name], *text.categories)) for text in open_texts(schema)
    ]

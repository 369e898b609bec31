"""Sentences for people on what a model does not show, and what rules did to its rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from privity.common.data.attribute import Attribute
from privity.common.data.spreadsheet_formulas import warning
from privity.common.synthesis.inference.fit_choice import PGM, TABLES
from privity.common.synthesis.models import Model
from privity.common.synthesis.models.copula_model import CopulaModel
from privity.common.text.first_few import first_few

FITS = {
    PGM: "All noisy marginals were fitted at once by one graphical model (pgm)",
    TABLES: "The noisy marginals were made to agree with each other and then fitted one by one (tables)",
}
"""By the method of inference."""

WHY_ALONE = "at this epsilon no table that joins them to others stands out from its noise"
WHY_WEAKENED = "A copula cannot show all of the dependence that was measured"

WORTH_TELLING = 0.005
"""Share of the rows beyond a range from which on people are told."""

BEYOND_REMEDY = (
    "Their values are spread by a tail, not measured one by one. To mend it, declare minimum and maximum (constraints)"
    " of the field, or discover with a larger epsilon."
)


def notes(model: Model, *, joins: bool) -> list[str]:
    """One sentence a shortcoming; ``joins`` as in ``privity.common.synthesis.algorithms.Algorithm``."""
    alone, beyond = modelled_alone(model) if joins else "", beyond_note(model.schema.attributes)
    found = (alone, weakened(model), beyond, unknown_texts(model.schema.attributes), warning(model.schema))
    return [note for note in found if note]


def unknown_texts(attributes: Iterable[Attribute]) -> str:
    """A sentence that names texts of which no category was discovered; empty if there are none."""
    names = [each.name for each in attributes if each.other is not None and each.categories == (each.other,)]
    if not names:
        return ""
    return f"No text of {first_few(names)} has enough rows to be discovered: all are one category. Leave them out."


def how_fitted(inference: dict[str, Any] | None) -> str:
    """A sentence on how tables became a model, and why not as was asked for.

    Args:
        inference: as in ``marginals.json``; without any the sentence is empty.
    """
    if inference is None:
        return ""
    cells = f" of {inference['cells']:,} cells" if inference["method"] == PGM else ""
    why = f"; a graphical model was asked for, but {inference['reason']}" if inference["reason"] else ""
    return f"{FITS[inference['method']]}{cells}{why}."


def fallback(inference: dict[str, Any] | None) -> list[str]:
    """The same sentence if one method of inference was asked for and the other used."""
    return [how_fitted(inference)] if inference is not None and inference["reason"] else []


def weakened(model: Model) -> str:
    """A sentence that names the pairs a copula shows less dependent than they were measured; empty without any."""
    pairs = weakened_pairs(model)
    return f"{WHY_WEAKENED} between: {first_few(pairs, '; ')}." if pairs else ""


def weakened_pairs(model: Model) -> tuple[str, ...]:
    """Each of these pairs by its attributes' names."""
    names = model.schema.names
    return tuple(f"{names[a]} and {names[b]}" for a, b in (model.weakened if isinstance(model, CopulaModel) else ()))


def modelled_alone(model: Model) -> str:
    """A sentence for people that names the attributes modelled alone; empty if there are none."""
    names = [model.schema.names[a] for a in sorted(model.alone)]
    if not names:
        return ""
    every = len(names) == len(model.schema.attributes)
    who = "Every attribute is" if every else f"{len(names)} of {len(model.schema.attributes)} attributes are"
    return f"{who} modelled alone, because {WHY_ALONE}: {first_few(names)}."


def constraint_notes(run: dict[str, Any]) -> list[str]:
    """One sentence for each rule that refused rows; ``run`` is the content of ``run.json``."""
    found = []
    for entry in run.get("constraints", []):
        share = f"{float(entry['rejected']):.2%} of the rows drawn from the model"
        if not entry.get("enforced", True):
            found.append(
                f"The rule {entry['rule']} was NOT enforced, and rows of the release may break it: {share} do, "
                "and too few are left that meet all rules."
            )
        elif entry["rejected"]:
            found.append(f"The rule {entry['rule']} refused {share}.")
    return found


def beyond_ranges(attributes: Iterable[Attribute]) -> list[str]:
    """An item for each number of which a part may lie beyond the range where it was measured."""
    return [item for attribute in attributes if (item := _beyond(attribute))]


def beyond_note(attributes: Iterable[Attribute]) -> str:
    """A sentence that names some of them, and what mends it; empty if there are none."""
    items = beyond_ranges(attributes)
    return f"Estimated beyond the measured range: {first_few(items, '; ')}. {BEYOND_REMEDY}" if items else ""


def _beyond(attribute: Attribute) -> str:
    measured = attribute.measured
    if measured is None or (measured.beyond is not None and measured.beyond.share < WORTH_TELLING):
        return ""
    low, high = (attribute.name_of(value) for value in (measured.minimum, measured.maximum))
    share = "not determined, as the number of rows is not public"
    if measured.beyond is not None:
        share = f"{measured.beyond.share:.1%} of the rows ± {measured.beyond.error:.1%}"
    return f"{attribute.name}: {share} (measured from {low} to {high})"

"""Read a model of any kind from its plain document."""

from __future__ import annotations

from typing import Any

from privity.common.data.schema import Schema
from privity.common.errors import Catalogue, PrivityError
from privity.common.formats import require
from privity.common.synthesis.models import Model
from privity.common.synthesis.models.bayesian_network import BayesianNetwork
from privity.common.synthesis.models.copula_model import CopulaModel
from privity.common.synthesis.models.junction_tree_model import JunctionTreeModel
from privity.common.synthesis.models.mixture_model import Mixture, Part


def load_model(document: dict[str, Any], schema: Schema, file: str) -> Model:
    """The model in the content of ``model.json``.

    Raises:
        PrivityError, ProblemsFound: it does not fit its format or the schema.
    """
    require(document, "model", file)
    if document["schema_digest"] != schema.digest:
        raise PrivityError(Catalogue.TAMPERED, what=file, reason="the model belongs to another schema")
    if document["kind"] == "bayesian-network":
        return BayesianNetwork.from_dict(document, schema, file)
    if document["kind"] == "copula":
        return CopulaModel.from_dict(document, schema, file)
    if document["kind"] == "junction-tree":
        return JunctionTreeModel.from_dict(document, schema, file)
    try:
        return Mixture([Part(part["rows"], load_model(part["model"], schema, file)) for part in document["parts"]])
    except ValueError as error:
        raise PrivityError(Catalogue.TAMPERED, what=file, reason=str(error)) from error

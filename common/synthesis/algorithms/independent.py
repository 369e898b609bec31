"""Independent: each party learns a model of its own rows for all of epsilon; the models stand side by side.

It is the paper's baseline, in which every party runs PrivBayes on its own table and the synthetic tables are put
together. No row is in two parties, so each pays epsilon once. With fewer rows at each party the same noise weighs more:
the error grows with the number of parties.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from privity.common.data.schema import Schema
from privity.common.privacy.run_budget import Share
from privity.common.protocol.session import Session
from privity.common.synthesis.algorithm_settings import document
from privity.common.synthesis.algorithms.algorithm import SU_2016, Algorithm
from privity.common.synthesis.algorithms.privbayes import PrivBayes
from privity.common.synthesis.models.mixture_model import Mixture, Part

LEARNING = "learning at each party"
LEARNER = PrivBayes.name


@dataclass(frozen=True)
class Settings:
    """Settings of Independent, all public."""

    privbayes: Mapping[str, Any] | None = document("how each party learns its model", f"settings of {LEARNER}")


class Independent(Algorithm[Settings]):
    """Independent: each party learns a PrivBayes model of its own rows; the models stand side by side."""

    name = "independent"
    paper = f"{SU_2016}, section VII"
    settings = Settings
    apart = True

    def check_domain(self, schema: Schema, chosen: Settings) -> None:
        """What each party would learn."""
        PrivBayes().check(chosen.privbayes or {}, schema)

    async def run(self, session: Session, share: Share, chosen: Settings) -> Mixture:
        """Learn one model at each party, or the one of a single owner; each pays the share."""
        settings = chosen.privbayes or {}
        if len(session.party_rows) == 1:
            models = [await PrivBayes().learn(session, share, settings)]
        else:
            models = await session.learn_apart(LEARNING, LEARNER, settings, share)
        return Mixture([Part(rows, model) for rows, model in zip(session.party_rows, models, strict=True)])

"""Independent: each party learns a model of its own rows for all of epsilon; the models stand side by side.

Source: Su, Tang, Cheng, Chen, Wu (ICDE 2016), section VII: the baseline in which every party runs PrivBayes on its
own table and the synthetic tables are put together. No row is in two parties, so each pays epsilon once. With
fewer rows at each party the same noise weighs more: the error grows with the number of parties.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from privity.common.data.schema import Schema
from privity.common.protocol.session import Session
from privity.common.synthesis.algorithm_settings import SettingsReader
from privity.common.synthesis.algorithms import privbayes
from privity.common.synthesis.models.mixture_model import Mixture, Part

LEARNING = "learning at each party"
LEARNER = "privbayes"


@dataclass(frozen=True)
class Settings:
    """Settings of Independent, all public.

    Attributes:
        privbayes: settings of the algorithm that each party runs.
    """

    privbayes: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, settings: Mapping[str, Any], schema: Schema) -> Settings:
        """From the plain document of a run spec; every fault at once."""
        reader = SettingsReader("independent", settings)
        inner = reader.document("privbayes")
        reader.finish()
        privbayes.check(inner, schema)
        return cls(inner)


async def learn(session: Session, epsilon: Fraction, settings: Mapping[str, Any]) -> Mixture:
    """Learn one model at each party; each pays ``epsilon``."""
    chosen = Settings.read(settings, session.schema)
    models = await session.learn_apart(LEARNING, LEARNER, chosen.privbayes, epsilon)
    return Mixture([Part(rows, model) for rows, model in zip(session.party_rows, models, strict=True)])

"""Prices that the type checker takes, and raw numbers that it refuses as prices: read by `make lint`, never run.

An error that is not found any more leaves a comment without use, which is an error itself.
"""

from __future__ import annotations

from fractions import Fraction

from privity.common.privacy.accountant import Accountant
from privity.common.privacy.ledger import Charge, Ledger
from privity.common.privacy.loss_conversion import zcdp_to_approximate
from privity.common.privacy.mechanisms import GaussianNoise, LaplaceNoise, NoisyMax
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.privacy_loss import ZCDP, PureDP, compose
from privity.common.privacy.run_budget import Share
from privity.common.protocol.round import Round, Tables
from privity.common.protocol.session import Session
from privity.common.protocol.steps import Learn, Select

ONE, TABLES = Fraction(1), Tables(((0,),))


async def fine(session: Session, ledger: Ledger, share: Share) -> None:
    loss = PureDP(ONE, RELATION)
    Charge("r", "s", loss + loss)
    Round("r", "p", "1", share.noise(TABLES))
    Select("r", "p", "1", (), NoisyMax(ONE))
    Learn("r", "p", "1", "one-way", {}, loss)
    await session.measure("p", [(0,)], share / 2)
    compose([loss, loss])


async def wrong(session: Session, ledger: Ledger, share: Share) -> None:
    loss, in_rho = PureDP(ONE, RELATION), ZCDP(ONE, RELATION)
    Charge("r", "s", Fraction(1))  # type: ignore[arg-type]
    Round("r", "p", "1", Fraction(1))  # type: ignore[arg-type]
    Round("r", "p", "1", loss)  # type: ignore[arg-type]
    Select("r", "p", "1", (), Fraction(1))  # type: ignore[arg-type]
    Learn("r", "p", "1", "one-way", {}, Fraction(1))  # type: ignore[arg-type]
    Learn("r", "p", "1", "one-way", {}, in_rho)  # type: ignore[arg-type]
    await session.measure("p", [(0,)], Fraction(1))  # type: ignore[arg-type]
    await session.measure("p", [(0,)], loss)  # type: ignore[arg-type]
    await session.score("p", [], Fraction(1))  # type: ignore[arg-type]
    session.running_sums("p", [(0,)], Fraction(1), [ONE])  # type: ignore[arg-type]
    session.selection("p", 3, Fraction(1))  # type: ignore[arg-type]
    await session.learn_apart("p", "one-way", {}, Fraction(1))  # type: ignore[arg-type]
    ledger.check(Fraction(1), "hospital")  # type: ignore[arg-type]
    Accountant().charged(Fraction(1))  # type: ignore[arg-type]
    LaplaceNoise.calibrated(TABLES, Fraction(1))  # type: ignore[arg-type]
    LaplaceNoise.calibrated(TABLES, in_rho)  # type: ignore[arg-type]
    GaussianNoise.calibrated(TABLES, loss)  # type: ignore[arg-type]
    loss + Fraction(1)  # type: ignore[operator]
    loss + in_rho  # type: ignore[operator]
    share + Fraction(1)  # type: ignore[operator]
    zcdp_to_approximate(loss, ONE / 2)  # type: ignore[arg-type]

"""The test of independence: it passes every sampler of production, and fails noise that is shared in any way."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from typer.testing import CliRunner

import privity.common.privacy as privacy
import privity.interfaces.cli.audit as command
from privity.assessment.audit.independence import Sampler, dependence, judge
from privity.assessment.audit.samplers import samplers
from privity.assessment.audit.subject import Source, seeded_source
from privity.common.crypto import masks
from privity.common.privacy import discrete_gaussian, discrete_laplace
from privity.common.privacy.discrete_laplace import noise_share
from privity.common.privacy.mechanisms import Noise
from privity.common.privacy.random_bits import SeededEntropy
from privity.common.privacy.tabulated_law import TabulatedLaw
from privity.common.privacy.thresholded_counts import ThresholdedCounts
from privity.interfaces.cli.main import app
from privity.party.charged_releases import ChargedReleases

pytestmark = pytest.mark.statistical

SAMPLERS = samplers()
SHAPE = (4, 8_192)
SEEDED = seeded_source(5)


def named(start: str) -> list[Sampler]:
    found = [sampler for sampler in SAMPLERS if sampler.name.startswith(start)]
    assert found, start
    return found


@pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda sampler: sampler.name)
def test_every_sampler_draws_independently(sampler: Sampler) -> None:
    assert judge(sampler, SEEDED).holds


def test_no_function_that_takes_entropy_is_left_out() -> None:
    """Of the package with all samplers: each is called while the samplers draw."""
    wanted, called = set(), set()
    for module in pkgutil.iter_modules(privacy.__path__):
        for value in vars(importlib.import_module(f"{privacy.__name__}.{module.name}")).values():
            members = vars(value).values() if inspect.isclass(value) else [value]
            wanted |= {one.__code__ for one in members if inspect.isfunction(one) and takes_entropy(one)}
    # What prices a selection hands its randomness on to these two; the audit's cases draw by it.
    handed_on = {"exponential_choice", "ExponentialMechanism.sample", "Selecting.sample"}

    def note(frame, event, _argument):
        if event == "call":
            called.add(frame.f_code)

    sys.setprofile(note)
    try:
        for sampler in SAMPLERS:
            if "tabulated" not in sampler.name:
                sampler.draw(SEEDED)
        named("discrete Gaussian, shares of quota 1, tabulated")[0].draw(SEEDED)
    finally:
        sys.setprofile(None)
    left_out = {code.co_qualname for code in wanted - called if not code.co_name.startswith("_")}
    assert left_out == handed_on
    assert len(wanted) > 15


def takes_entropy(function: Callable[..., object]) -> bool:
    return "Entropy" in {parameter.annotation for parameter in inspect.signature(function).parameters.values()}


def laplace(shape: tuple[int, int] = SHAPE, label: str = "noise") -> np.ndarray:
    return noise_share(Fraction(15, 2), 1, shape[0] * shape[1], SeededEntropy(b"independence", label)).reshape(shape)


def signs(shape: tuple[int, int] = SHAPE) -> np.ndarray:
    return np.where(np.random.default_rng(3).random(shape) < 0.5, 1, -1)


def one_sign_for_eight() -> np.ndarray:
    return np.abs(laplace()) * np.repeat(signs((4, 1_024)), 8, axis=1)


def copies_of_the_cell_eight_before() -> np.ndarray:
    drawn = laplace().reshape(4, -1, 16)
    drawn[..., 8:] = drawn[..., :8]
    return drawn.reshape(SHAPE)


def copies_of_the_cell_61_before() -> np.ndarray:
    return laplace((4, 61))[:, np.arange(SHAPE[1]) % 61]


def one_vector_for_all_series() -> np.ndarray:
    return np.tile(laplace((1, SHAPE[1])), (4, 1))


def one_vector_for_two_of_four_series() -> np.ndarray:
    drawn = laplace()
    drawn[3] = drawn[1]
    return drawn


def one_draw_for_all_cells_of_a_series() -> np.ndarray:
    return np.repeat(laplace((4, 1)), SHAPE[1], axis=1)


def one_magnitude_for_all_series() -> np.ndarray:
    return np.abs(one_vector_for_all_series()) * signs()


def one_sign_for_all_series() -> np.ndarray:
    return np.abs(laplace()) * np.tile(signs((1, SHAPE[1])), (4, 1))


def opposite_noise_in_two_series() -> np.ndarray:
    drawn = laplace()
    drawn[1] = -drawn[0]
    return drawn


def one_block_twice() -> np.ndarray:
    half = laplace((1, SHAPE[1] // 2))
    return np.concatenate([half, half], axis=1)


def the_carried_over_half_of_the_neighbour() -> np.ndarray:
    """Each cell adds half of what its neighbour added."""
    drawn = laplace()
    drawn[:, 1:] = drawn[:, 1:] + drawn[:, :-1] // 2
    return drawn


SHARED = [
    one_sign_for_eight, copies_of_the_cell_eight_before, copies_of_the_cell_61_before, one_vector_for_all_series,
    one_vector_for_two_of_four_series, one_draw_for_all_cells_of_a_series, one_magnitude_for_all_series,
    one_sign_for_all_series, opposite_noise_in_two_series, one_block_twice, the_carried_over_half_of_the_neighbour,
]  # fmt: skip


@pytest.mark.parametrize("shared", SHARED, ids=lambda shared: shared.__name__)
def test_shared_noise_is_found(shared: Callable[[], np.ndarray]) -> None:
    assert dependence(shared()).strength > 1


@pytest.mark.parametrize("scale", ["1/8", "1", "1000000"])
def test_independent_noise_stays_below_the_bound(scale: str) -> None:
    """Most of it zero, or hardly any; and series of very different laws beside each other."""
    strengths = []
    for seed in range(30):
        drawn = noise_share(Fraction(scale), 1, 4 * 2_048, SeededEntropy(b"below", f"{scale} {seed}")).reshape(4, -1)
        strengths.append(dependence(drawn).strength)
        drawn[2] = np.abs(drawn[2]) + 10
        strengths.append(dependence(drawn, symmetric=False).strength)
    assert max(strengths) < 0.8


def test_the_place_of_a_repetition_is_named() -> None:
    assert dependence(one_vector_for_all_series()).in_words.endswith(", 1 series and 0 cells apart")
    assert dependence(one_sign_for_eight()).in_words == "signs, 0 series and 1 cells apart"


# Faults of production, each of which every test of one cell's law passes.


def found_dependent(start: str, source: Source = SEEDED) -> bool:
    return any(not judge(sampler, source).holds for sampler in named(start))


def test_a_sign_for_eight_cells_of_the_gaussian_table(monkeypatch) -> None:
    def signed(sizes, entropy):
        words = np.unpackbits(np.frombuffer(entropy.take(-(-sizes.size // 64)), dtype=np.uint8)).repeat(8)
        return np.where(words[: sizes.size], -sizes, sizes)

    monkeypatch.setattr(discrete_gaussian, "_signed", signed)
    assert found_dependent("discrete Gaussian, shares of quota 1, tabulated")


@pytest.mark.parametrize("axis", [0, 1], ids=["all columns", "all texts"])
def test_one_noise_for_all_columns_or_all_texts(axis: int, monkeypatch) -> None:
    sample = ThresholdedCounts.sample

    def repeated(self, rows, entropy):
        drawn = sample(self, rows, entropy)
        return np.repeat(np.take(drawn, [0], axis=axis), drawn.shape[axis], axis=axis)

    monkeypatch.setattr(ThresholdedCounts, "sample", repeated)
    assert found_dependent("thresholded counts, discrete Laplace")
    assert found_dependent("thresholded counts, discrete Gaussian")


def test_one_block_of_noise_for_all_blocks(monkeypatch) -> None:
    def in_blocks(size, sampler):
        block = discrete_laplace._BLOCK
        return np.resize(sampler(min(size, block)), size)

    monkeypatch.setattr(discrete_laplace, "in_blocks", in_blocks)
    assert found_dependent("discrete Laplace, shares of quota 3, tabulated")


def test_the_same_words_for_gain_and_loss_of_the_next_share(monkeypatch) -> None:
    """A table's draw that begins with the words of the draw before it."""
    draw, kept = TabulatedLaw.draw, [np.zeros(0, dtype=np.int64)]

    def again(self, size, entropy):
        fresh = draw(self, size, entropy)
        found = np.concatenate([kept[0][: size // 2], fresh])[:size]
        kept[0] = fresh
        return found

    monkeypatch.setattr(TabulatedLaw, "draw", again)
    assert found_dependent("discrete Laplace, shares of quota 1, tabulated")


def test_one_noise_for_all_tables_of_a_round(monkeypatch) -> None:
    sample = Noise.sample

    def repeated(self, cells, quota, entropy):
        drawn = sample(self, cells, quota, entropy)
        return np.resize(drawn[: int(cells[0])], drawn.size)

    monkeypatch.setattr(Noise, "sample", repeated)
    assert found_dependent("discrete Laplace, tables of two weights")
    assert found_dependent("rounds of one owner")


def test_one_noise_for_two_rounds(monkeypatch) -> None:
    monkeypatch.setattr(ChargedReleases, "_new_share", _first_share_of_all(ChargedReleases._new_share))
    assert found_dependent("rounds of one owner")


def _first_share_of_all(fresh):
    kept: list[np.ndarray] = []

    def share(self, *arguments):
        if not kept:
            kept.append(fresh(self, *arguments))
        return kept[0].copy()

    return share


@pytest.mark.parametrize("way", ["words", "residues"])
def test_masks_of_one_vector_for_all(way: str, monkeypatch) -> None:
    stream = masks._keystream
    monkeypatch.setattr(masks, "_keystream", lambda key, _use, length: stream(key, b"one", length))
    assert found_dependent(f"masks, {way}")


def test_the_command_tells_of_dependent_draws(monkeypatch) -> None:
    broken = Sampler("shared", lambda source: one_sign_for_eight())
    monkeypatch.setattr(command, "samplers", lambda: [broken])
    result = CliRunner().invoke(app, ["audit", "--mechanism", "independence"])
    assert result.exit_code == 1
    assert "DEPENDENT" in result.output

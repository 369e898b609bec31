"""Invented tables: of the declared domains, as even and as dependent as their profile says, the same for a seed."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.special import expit

from benchmarks.methods.profile_fit import TableFit, distances_from_independence, evenness, fit_table, profiles_of
from privity.assessment.planning.invented_tables import (
    Profile,
    invent,
    profiles_text,
    read_profiles,
    sample,
    sample_loadings,
    sample_margin,
    shipped_profiles,
)
from privity.common.data.schema import parse_schema
from tests.harness.consortium import make_schema
from tests.harness.places import ROOT

EVEN = (0.2, 0.5, 0.7, 0.9, 1.0)
PROFILE = Profile(EVEN, 0.0, 1.0, 0.1)
DOMAIN = (2, 3, 7, 16, 40, 2, 5, 9)


def invented(profile: Profile = PROFILE, rows: int = 20_000, seed: int = 1):
    return invent(make_schema(DOMAIN), rows, profile, np.random.default_rng(seed))


def test_a_stand_in_has_the_declared_domains_and_rows() -> None:
    table = invented(rows=70_000)
    assert table.schema.domain == DOMAIN
    assert table.rows == 70_000
    assert all(column.max() < size for column, size in zip(table.columns, DOMAIN, strict=True))


def test_margins_are_as_even_as_the_profile_says() -> None:
    found = sorted(evenness(invented()))
    # One from each eighth of the profile's law.
    bounds = np.interp(np.linspace(0, 1, len(DOMAIN) + 1), np.linspace(0, 1, len(EVEN)), EVEN)
    for value, low, high in zip(found, bounds, bounds[1:], strict=False):
        assert low - 0.02 <= value <= high + 0.02


@pytest.mark.parametrize("wanted", [0.05, 0.4, 0.9, 1.0])
def test_a_margin_has_the_entropy_that_was_asked_for(wanted: float) -> None:
    for attribute in make_schema(DOMAIN).attributes:
        margin = sample_margin(attribute, wanted, np.random.default_rng(3))
        assert margin.sum() == pytest.approx(1)
        held = margin[margin > 0]
        assert -(held * np.log(held)).sum() / np.log(attribute.size) == pytest.approx(wanted, abs=0.01)


def test_absent_rows_are_not_invented() -> None:
    fields = [{"name": name, "type": "integer", "categories": [0, 1, 2]} for name in "ab"]
    schema = parse_schema({"absentRows": True, "fields": fields}, "x")
    table = invent(schema, 1000, PROFILE, np.random.default_rng(0))
    assert not table.absent().any()
    assert schema.domain == (4, 4)


@pytest.mark.process
def test_common_variance_is_what_the_profile_says() -> None:
    profile = Profile(EVEN, 0.5, 1.5, 0.2)
    shares = (sample_loadings(profile, 4000, np.random.default_rng(5)) ** 2).sum(axis=1)
    logits = np.log(shares / (1 - shares))
    assert logits.mean() == pytest.approx(0.5, abs=0.02)
    assert logits.std() == pytest.approx(1.5, abs=0.05)


def test_hidden_correlation_is_the_product_of_loadings() -> None:
    schema = make_schema((2, 2))
    half = np.array([0.5, 0.5])
    loadings = np.array([[0.8], [0.9]])
    table = sample(schema, 200_000, [half, half], loadings, np.random.default_rng(7))
    same = (table.columns[0] == table.columns[1]).mean()
    # Sheppard: P(same sign) = 1/2 + arcsin(rho) / pi; categories may stand either way round.
    expected = 0.5 + np.arcsin(0.72) / np.pi
    assert min(abs(same - expected), abs(1 - same - expected)) < 0.005


def test_more_communality_is_more_dependence() -> None:
    distances = [
        np.mean([distances_from_independence(invented(Profile(EVEN, c, 1.0, 0.1), seed=s)).mean() for s in range(4)])
        for c in (-4.0, -1.0, 2.0)
    ]
    assert distances[0] * 2 < distances[1] < distances[2] / 1.5


def test_a_stand_in_is_the_same_for_a_seed_and_another_for_another() -> None:
    first, again, other = invented(seed=1), invented(seed=1), invented(seed=2)
    assert all((a == b).all() for a, b in zip(first.columns, again.columns, strict=True))
    assert any((a != b).any() for a, b in zip(first.columns, other.columns, strict=True))


def test_a_profile_moves_with_the_size_of_the_table_and_no_further() -> None:
    profile = Profile(EVEN, 0.0, 1.0, 0.1, evenness_by_attributes=-0.5, communality_by_rows=-0.2)
    assert profile.at(12, 10_000).evenness == pytest.approx(EVEN)
    wide = profile.at(24, 20_000)
    assert wide.evenness[1] == pytest.approx(expit(-0.5 * np.log(2)))
    assert wide.communality == pytest.approx(-0.2 * np.log(2))
    assert wide.at(99, 99).communality == wide.communality
    assert wide.at(99, 99).evenness == pytest.approx(wide.evenness)


@pytest.mark.process
def test_a_fit_finds_the_communality_again() -> None:
    known = [fit_table(invented(Profile(EVEN, c, 2.5, 0.05), rows=5000, seed=11)) for c in (-2.0, 1.0)]
    found = [fit.communality[2] for fit in known]
    assert found == pytest.approx([-2.0, 1.0], abs=0.8)


def test_profiles_are_quantiles_over_tables_of_the_best_shape() -> None:
    generator = np.random.default_rng(0)
    fits = []
    for communality in np.linspace(-2, 2, 401):
        attributes, rows = generator.integers(6, 40), generator.integers(1000, 90_000)
        moved = communality - 0.5 * np.log(attributes / 12) - 0.2 * np.log(rows / 10_000)
        even = tuple(expit(generator.normal(size=attributes) - np.log(attributes / 12)))
        fits.append(TableFit(int(rows), even, (moved,) * 6, (0.3, 0.3, 0.3, 0.1, 0.3, 0.3)))
    found = profiles_of(fits)
    assert {name: p.communality for name, p in found.items()} == pytest.approx(
        {"weak": -1.6, "typical": 0.0, "strong": 1.6}, abs=0.25
    )
    typical = found["typical"]
    assert typical.communality_by_attributes == pytest.approx(-0.5, abs=0.3)
    assert typical.communality_by_rows == pytest.approx(-0.2, abs=0.15)
    assert typical.evenness_by_attributes == pytest.approx(-1, abs=0.2)
    assert typical.evenness[5] == pytest.approx(0.5, abs=0.05)
    assert (found["typical"].spread, found["typical"].factors) == (2.5, 0.1)
    assert read_profiles(profiles_text(found)) == found


def test_the_shipped_profiles_go_from_weak_to_strong() -> None:
    weak, typical, strong = (shipped_profiles()[name] for name in ("weak", "typical", "strong"))
    assert weak.communality < typical.communality < strong.communality
    assert all(a <= b <= c for a, b, c in zip(weak.evenness, typical.evenness, strong.evenness, strict=True))


def test_no_constant_names_a_data_set() -> None:
    names = r"adult|nltcs|cps|diabetes|randhie|anes|acs|census|fair\b"
    files = [
        "assessment/planning/invented_tables.py",
        "assessment/planning/profiles.json",
        "assessment/planning/rehearsal.py",
        "assessment/planning/expected_error.py",
    ]
    files += [
        "assessment/planning/accuracy_page.py",
        "interfaces/cli/plan.py",
        "deploy/operator/plan_options.py",
        "assessment/planning/line_chart.py",
    ]
    files += ["benchmarks/methods/profile_fit.py", "benchmarks/methods/accuracy_forecast.py"]
    for file in files:
        found = re.search(names, (ROOT / file).read_text(encoding="utf-8"), re.IGNORECASE)
        assert found is None, f"{file} names {found}"

"""Comparisons of values against brute force, and against the libraries whose definitions they have."""

import warnings
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ks_2samp, spearmanr

from privity.assessment.evaluation import pair_comparison, propensity
from privity.assessment.evaluation.column_comparison import RealColumns, joint_missingness, ks_distance
from privity.assessment.evaluation.linear_structure import RealStructure
from privity.assessment.evaluation.pair_comparison import LEAST_GROUP, Deciles, compare_pairs
from privity.assessment.evaluation.propensity import commonest_apart
from privity.assessment.evaluation.value_tables import no_structure, values_of_frame
from privity.common.data.coded_table import CodedTable
from privity.common.data.schema import parse_schema
from tests.assessment.evaluation.made_tables import frame, schema, table
from tests.harness.consortium import make_schema

VALUES = st.lists(st.integers(-4, 4).map(float), min_size=1, max_size=40).map(sorted).map(np.array)


@given(VALUES, VALUES)
def test_the_distance_of_two_distributions_is_scipys(mine, theirs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert ks_distance(mine, theirs) == pytest.approx(ks_2samp(mine, theirs, method="asymp").statistic)


def test_a_column_without_values_is_as_far_as_can_be():
    some, none = np.array([1.0]), np.empty(0)
    assert (ks_distance(some, none), ks_distance(none, some), ks_distance(none, none)) == (1, 1, 0)
    declared = parse_schema(
        {"fields": [{"name": "x", "type": "number", "edges": [0, 9], "missingValues": ["NA"]}]}, "s"
    )
    real, other = (values_of_frame(pd.DataFrame({"x": texts}), declared, "rows") for texts in (["1", "2"], ["NA"] * 3))
    (found,) = RealColumns(real).compared(other)
    assert (found.distance, found.missing, found.mean_error) == (1, (0, 1), None)
    (back,) = RealColumns(other).compared(real)
    assert (back.distance, back.top_value, back.quantile_error) == (1, None, None)


def test_figures_of_a_column_are_those_of_its_values():
    real, other = table(700), table(400, 1)
    columns = {column.name: column for column in RealColumns(real).compared(other)}
    x, y = (pd.to_numeric(frame(*args)["pay"], errors="coerce") for args in ((700,), (400, 1)))
    pay, loss = columns["pay"], columns["loss"]
    assert pay.missing == pytest.approx((x.isna().mean(), y.isna().mean()))
    assert pay.distance == pytest.approx(ks_2samp(x.dropna(), y.dropna()).statistic)
    sd = x.std(ddof=0)
    assert pay.mean_error == pytest.approx(abs(x.mean() - y.mean()) / sd)
    assert pay.spread_error == pytest.approx(abs(y.std(ddof=0) / sd - 1))
    gaps = [abs(x.quantile(q) - y.quantile(q)) / sd for q in (0.05, 0.5, 0.95)]
    assert pay.quantile_error == pytest.approx(np.mean(gaps))
    zeros = [(frame(*args)["loss"] == "0").mean() for args in ((700,), (400, 1))]
    assert (loss.numbers[0].zero, loss.numbers[1].zero) == pytest.approx(zeros)
    assert (loss.top_value, loss.top_error) == (0, pytest.approx(abs(zeros[0] - zeros[1])))
    wards = [frame(*args)["ward"].value_counts(normalize=True) for args in ((700,), (400, 1))]
    assert columns["ward"].distance == pytest.approx((wards[0] - wards[1]).abs().sum() / 2)


def test_scores_of_columns_are_those_of_sdmetrics():
    single = pytest.importorskip("sdmetrics.single_column")
    columns = {column.name: column for column in RealColumns(table(500)).compared(table(300, 1))}
    real, other = frame(500), frame(300, 1)
    for name in ("age", "loss"):
        score = single.KSComplement.compute(real[name].astype(float), other[name].astype(float))
        assert 1 - columns[name].distance == pytest.approx(score)
    assert 1 - columns["ward"].distance == pytest.approx(single.TVComplement.compute(real["ward"], other["ward"]))


def test_zeros_that_vanish_within_a_bin_are_seen():
    """The bins are equal, so a comparison of bins sees nothing."""
    real, rows = table(2000), frame(2000)
    generator = np.random.default_rng(1)
    rows["loss"] = np.where(rows["loss"] == "0", generator.integers(0, 999, 2000), rows["loss"].astype(int)).astype(str)
    found = RealColumns(real).compared(values_of_frame(rows, schema(), "rows"))[4]
    assert found.binned == 0
    assert found.zero_error > 0.85
    assert found.distance > 0.85


def pairs_of(real, others, pairs=None):
    pairs = list(combinations(range(len(real.schema.attributes)), 2)) if pairs is None else pairs
    deciles = Deciles(real)
    attributes = real.schema.attributes
    labels = [deciles.labels(place) for place in range(len(attributes))]
    codes = [deciles.codes(other) for other in others]
    return compare_pairs(deciles.codes(real), codes, attributes, labels, pairs), labels


def cut(rows, real, masses):
    """Texts of cells, written out with pandas: by deciles of the real rows, with point masses apart or not."""
    found = {}
    for name in real.columns:
        if name in ("age", "pay", "loss"):
            x, y = (pd.to_numeric(one[name], errors="coerce") for one in (real, rows))
            cuts = sorted({float(np.quantile(x.dropna(), q / 10)) for q in range(1, 10)})
            place = [("missing", 0) if np.isnan(v) else (sum(c <= v for c in cuts), 0) for v in y]
            heavy = [v for v, share in x.value_counts(normalize=True).items() if share >= 0.1]
            if masses:
                place = [(a, v in heavy and v in cuts) for (a, _), v in zip(place, y, strict=True)]
            found[name] = [str(one) for one in place]
        else:
            found[name] = rows[name].tolist()
    return pd.DataFrame(found)


def distance(one, other, names):
    shares = [part.groupby(list(names)).size() / len(part) for part in (one, other)]
    return shares[0].sub(shares[1], fill_value=0).abs().sum() / 2


@pytest.mark.parametrize("sparse", [False, True])
def test_distances_of_pairs_are_those_of_cells_written_out(monkeypatch, sparse):
    if sparse:
        monkeypatch.setattr(pair_comparison, "SPARSE_FACTOR", 0)
    real, other = frame(600), frame(350, 1)
    ((found,), _) = pairs_of(table(600), [table(350, 1)])
    apart = [cut(rows, real, True) for rows in (real, other)]
    plain = [cut(rows, real, False) for rows in (real, other)]
    for (a, b), value in found.distances.items():
        names = real.columns[a], real.columns[b]
        assert value == pytest.approx(distance(*apart, names)), names
    if not sparse:
        expected = [distance(*plain, names) for names in combinations(real.columns, 2)]
        assert found.at_deciles == pytest.approx(np.mean(expected))


def test_a_point_mass_stands_apart_where_deciles_do_not_see_it():
    rows = frame(3000)
    rows["loss"] = np.where(rows["loss"] == "0", "1", rows["loss"])
    ((found,), labels) = pairs_of(table(3000), [values_of_frame(rows, schema(), "rows")])
    assert labels[4] == ["below 0", "0", "above 0", "(missing)"]
    assert found.distances[0, 4] > 0.85
    assert found.at_deciles < 0.01


@pytest.mark.parametrize("yes", [0, 2, 15, 50, 90, 98, 100])
def test_answers_of_yes_and_no_are_cells_with_their_labels(yes):
    """Whatever their shares are; deciles alone do not tell a rare one from the other."""
    answers_ = parse_schema({"fields": [{"name": "sick", "type": "boolean"}, {"name": "age", "type": "integer",
                             "edges": [0, 1, 2]}]}, "answers")  # fmt: skip
    rows = pd.DataFrame({"sick": np.repeat(["true", "false"], [yes, 100 - yes]), "age": "1"})
    real = values_of_frame(rows, answers_, "rows")
    ((found,), labels) = pairs_of(real, [real])
    codes = Deciles(real).codes(real)
    assert found.distances[0, 1] == 0
    assert len(labels[0]) == codes.sizes[0]
    for code, answer in zip(codes.columns[0], rows["sick"], strict=True):
        assert answer in labels[0][code].split(" or ")


def test_groups_are_the_rows_of_a_value():
    real, other = frame(900), frame(500, 1)
    ((found,), _) = pairs_of(table(900), [table(500, 1)])
    cells = [cut(rows, real, True) for rows in (real, other)]
    groups = {(group.attribute, group.value): group for group in found.groups}
    for value in ("north", "west"):
        parts = [one[one["ward"] == value] for one in cells]
        errors = [distance(*parts, [name]) for name in real.columns if name != "ward"]
        assert groups["ward", value].error == pytest.approx(np.mean(errors))
        assert groups["ward", value].rows == (real["ward"] == value).sum()
    assert [group.rows for group in found.groups] == sorted(group.rows for group in found.groups)
    assert found.groups[0].rows >= LEAST_GROUP
    gone = other[other["ward"] != "west"]
    ((found,), _) = pairs_of(table(900), [values_of_frame(gone, schema(), "rows")])
    assert next(group for group in found.groups if group.value == "west").error == 1


def test_missing_together_are_patterns_counted_one_by_one():
    found = joint_missingness(table(800), table(500, 1))
    assert found.distance == pytest.approx(
        distance(*(one[["pay", "note"]].isin(["NA", ""]) for one in (frame(800), frame(500, 1))), ["pay", "note"])
    )
    assert found.worst == ("pay", "note")
    apart = frame(800)
    apart["note"] = np.random.default_rng(0).permutation(apart["note"])
    lost = joint_missingness(table(800), values_of_frame(apart, schema(), "rows"))
    assert lost.together[0] > 0.08 > 0.03 > lost.together[1]
    assert joint_missingness(table(9).over(["age", "pay"]), table(9).over(["age", "pay"])) is None


def test_correlations_are_spearmans():
    names = ["age", "sick", "loss"]
    real, other = table(500).over(names), table(300, 1).over(names)
    found = RealStructure(real).correlations(other)
    matrices = [spearmanr(np.column_stack(one.numbers)).statistic for one in (real, other)]
    gaps = np.abs(matrices[0] - matrices[1])[np.triu_indices(3, 1)]
    assert found.error == pytest.approx(gaps.mean())
    with_missing = table(500)
    found = RealStructure(with_missing).correlations(no_structure(with_missing))
    assert found.worst == ("age", "pay")
    both = frame(500)[["age", "pay"]].apply(pd.to_numeric, errors="coerce").dropna()
    assert found.real == pytest.approx(spearmanr(both["age"], both["pay"]).statistic, abs=0.02)


def test_regressions_are_those_of_all_rows():
    names = ["age", "sick", "pay", "loss"]
    real, other = table(800), table(600, 1)
    found = {one.target: one for one in RealStructure(real).regressions(other)}
    assert list(found) == names
    for target in names:
        rest = [name for name in names if name != target]
        coefficients = []
        for rows in (frame(800), frame(600, 1)):
            numbers = rows.assign(sick=rows["sick"] == "true")[names].apply(pd.to_numeric, errors="coerce").dropna()
            standardised = ((numbers - numbers.mean()) / numbers.std()).astype(float)
            coefficients.append(np.linalg.lstsq(standardised[rest], standardised[target], rcond=None)[0])
        one = found[target]
        assert one.signs == (np.sign(coefficients[0]) == np.sign(coefficients[1])).mean()
        assert one.error == pytest.approx(np.abs(coefficients[0] - coefficients[1]).mean())
    assert found["age"].explained > 0.8 > 0.1 > found["loss"].explained


def test_there_are_no_regressions_of_few_rows_or_of_numbers_that_do_not_vary():
    assert RealStructure(table(15)).regressions(table(15)) == []
    rows = frame(300)
    rows["loss"] = "0"
    constant = values_of_frame(rows, schema(), "rows")
    assert [one.target for one in RealStructure(constant).regressions(table(300, 1))] == ["age", "sick", "pay"]
    assert {one.target for one in RealStructure(table(300)).regressions(constant)} == {"age", "sick", "pay", "loss"}
    alone = table(50).over(["age"])
    assert (RealStructure(alone).correlations(alone), RealStructure(alone).regressions(alone)) == (None, [])
    texts = table(50).over(["ward", "note"])
    assert RealStructure(texts).correlations(texts) is None


def test_some_pairs_have_the_distances_that_they_have_among_all():
    real, other = table(600), values_of_frame(frame(500, 2), schema(), "rows")
    (whole,), _ = pairs_of(real, [other])
    (some,), _ = pairs_of(real, [other], [(0, 2), (1, 3)])
    assert some.distances == {pair: whole.distances[pair] for pair in [(0, 2), (1, 3)]}


def test_rarer_codes_are_one_where_a_regression_would_have_too_many_columns(monkeypatch):
    codes = CodedTable(make_schema((50, 3)), (np.arange(200) ** 2 % 50, np.arange(200) % 3))
    assert commonest_apart(codes).columns[0].tolist() == codes.columns[0].tolist()
    monkeypatch.setattr(propensity, "MOST_COLUMNS", 12)
    pooled = commonest_apart(codes)
    sizes = [len(np.unique(column)) for column in pooled.columns]
    assert sum(sizes) <= 12
    assert sizes[1] == 3
    # Codes that are together in a pool were together or rarer; the others stay apart.
    counts = np.bincount(codes.columns[0])
    kept = np.argsort(-counts, kind="stable")[: sizes[0] - 1]
    for place in range(sizes[0] - 1):
        assert (codes.columns[0] == kept[place]).tolist() == (pooled.columns[0] == place).tolist()

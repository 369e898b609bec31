"""Which fit is used: as asked, or consistency post-processing beyond the bounds; and where that is said."""

from __future__ import annotations

import asyncio
import json
from fractions import Fraction

import numpy as np
import pytest

from privity.assessment.planning.in_process_backend import InProcessBackend
from privity.assessment.planning.run_cost import plan_document, planned, show_plan
from privity.common import formats
from privity.common.data.schema import parse_schema
from privity.common.errors import PrivityError
from privity.common.privacy.run_budget import PureBudget
from privity.common.release.report.overview import overview
from privity.common.release.report.report_page import report_page, write_with_report
from privity.common.release.shortcomings import fallback, how_fitted
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.synthesis.inference import fit_choice
from privity.common.synthesis.inference.fit_choice import MOST_BYTES, PGM, TABLES, choose_inference, size_of_fit
from privity.common.synthesis.inference.maximum_likelihood import STEPS
from privity.common.synthesis.inference.pooled_codes import MOST_APART
from privity.common.synthesis.models.junction_tree_model import JunctionTreeModel
from privity.deploy.operator.request_options import learning_settings, run_request
from tests.harness.releases import release_of
from tests.harness.tables import FIELDS, people

CHOICE = sorted(name for name, known in ALGORITHMS.items() if known.infers)
SCHEMA = parse_schema({"name": "people", "fields": FIELDS}, "people")
TWO = Fraction(2)


def learn(table, algorithm, chosen, epsilon=TWO):
    session = InProcessBackend([table], PureBudget(epsilon)).session()
    return session, asyncio.run(ALGORITHMS[algorithm].learn(session, session.budget.whole, chosen))


@pytest.mark.parametrize("algorithm", CHOICE)
def test_every_algorithm_that_offers_it_ends_in_the_fit_that_was_asked_for(make_table, algorithm):
    table = make_table([3, 2, 4, 2], 5000)
    for method in (TABLES, PGM):
        session, model = learn(table, algorithm, {"inference": method})
        assert (session.record.inference.method, session.record.inference.asked) == (method, method)
        assert session.record.inference.reason == ""
        assert model.sample(10, np.random.default_rng(0)).rows == 10
        assert session.backend.releases[0].ledger.spent() == TWO
    assert isinstance(model, JunctionTreeModel)
    size = session.record.inference.size
    foretold = size_of_fit([t.attributes for _, t in session.record.measured], [3, 2, 4, 2], STEPS)
    assert (size.cells, size.bytes) == (foretold.cells, foretold.bytes)
    assert size.cells == sum(clique.weights.size for clique in model.cliques)


@pytest.mark.parametrize(("bound", "said"), [("MOST_BYTES", "bytes, more than 1"), ("MOST_SECONDS", "s, more than 0")])
@pytest.mark.parametrize("algorithm", CHOICE)
def test_beyond_a_bound_consistency_post_processing_is_used_and_the_record_says_why(
    make_table, monkeypatch, algorithm, bound, said
):
    monkeypatch.setattr(fit_choice, bound, 1 if bound == "MOST_BYTES" else 0)
    session, _ = learn(make_table([3, 2, 4, 2], 2000), algorithm, {"inference": PGM})
    used = session.record.inference
    assert (used.method, used.asked) == (TABLES, PGM)
    assert used.size.cells > 0
    assert said in used.reason
    assert session.backend.releases[0].ledger.spent() == TWO


@pytest.mark.parametrize("rows", [5, 300, 30_000])
@pytest.mark.parametrize(
    ("algorithm", "chosen"),
    [("privbayes", {"encoding": "binary"}), ("privbayes", {"encoding": "gray"}), ("dp-subn", {"attributes": "binary"})],
)
def test_tables_over_bits_fall_back_whether_or_not_two_bits_share_a_table(make_table, algorithm, chosen, rows):
    """With few rows every bit is alone, and no table of a whole attribute is there either."""
    session, _ = learn(make_table([5, 4, 3], rows), algorithm, {**chosen, "inference": PGM})
    assert session.record.inference.method == TABLES
    assert "bits" in session.record.inference.reason


def test_generalised_tables_are_part_of_a_graphical_model(people):
    derived = people.derived
    tables = [*((a,) for a in range(len(people.names))), (derived.levels(0)[1], 1), (0, 2)]
    chosen = choose_inference(PGM, tables, people, 300)
    assert chosen.method == PGM
    domain = people.domain
    # In the place of the generalised attribute, the model has the attribute itself.
    assert chosen.size.cells == domain[0] * domain[1] + domain[0] * domain[2] + sum(domain[3:])
    assert chosen.size.bytes == 96 * chosen.size.cells


def test_the_bound_is_a_gibibyte_and_a_fit_just_above_it_is_not_begun(make_table):
    side = MOST_BYTES // (96 * 104 * MOST_APART)
    for size, method in ((side, PGM), (side + 1, TABLES)):
        schema = make_table([104, MOST_APART, size], 1).schema
        assert choose_inference(PGM, [(0,), (1,), (2,), (0, 1, 2)], schema, 1).method == method


def test_rare_ones_of_many_codes_take_no_time(make_table):
    tables = [(0,), (1,), (0, 1)]
    few, many = (size_of_fit(tables, [size, 16], STEPS) for size in (MOST_APART, 5 * MOST_APART))
    assert few.seconds == many.seconds
    assert few.bytes < many.bytes < 2 * few.bytes


# Where it is said


def released(folder, algorithm, settings):
    folder.mkdir()
    return release_of(folder, algorithm, people(400), SCHEMA, settings=settings)


def test_a_release_and_its_report_say_which_fit_was_used_and_why_not_another(tmp_path, monkeypatch):
    used, _ = released(tmp_path / "used", "mst", {"inference": PGM})
    light, _ = released(tmp_path / "light", "mst", {})
    monkeypatch.setattr(fit_choice, "MOST_BYTES", 1)
    fallen, table = released(tmp_path / "fallen", "mst", {"inference": PGM})
    for release in (used, light, fallen):
        formats.require(json.loads(json.dumps(release.marginals)), "marginals", "marginals.json")
    one, two, three = (r.marginals["inference"] for r in (used, light, fallen))
    assert (one["method"], one["asked"], one["reason"]) == (PGM, PGM, "")
    assert (two["method"], two["asked"]) == (TABLES, TABLES)
    assert [two[key] for key in ("cells", "bytes", "seconds")] == [None] * 3
    assert (three["method"], three["asked"]) == (TABLES, PGM)
    assert "more than 1" in three["reason"]
    assert [fallback(i) for i in (one, two)] == [[], []]
    assert fallback(three) == [how_fitted(three)]
    assert three["reason"] in how_fitted(three)
    page = report_page(overview(fallen, table.table))
    assert how_fitted(three) in page
    assert how_fitted(one) in report_page(overview(used, table.table))
    write_with_report(tmp_path / "out", fallen, table)
    assert json.loads((tmp_path / "out" / "marginals.json").read_text())["inference"] == three


@pytest.mark.statistical
@pytest.mark.parametrize("algorithm", ["copula", "one-way"])
def test_an_algorithm_with_a_way_of_its_own_says_nothing_of_a_fit(tmp_path, algorithm):
    release, table = released(tmp_path / "r", algorithm, {})
    assert release.marginals["inference"] is None
    formats.require(json.loads(json.dumps(release.marginals)), "marginals", "marginals.json")
    assert "fitted one by one" not in report_page(overview(release, table.table))


def asked(algorithm="mst", settings="{}", inference=None):
    fit = {} if inference is None else {"inference": inference}
    return run_request({"epsilon": "1", "algorithm": algorithm, "settings": settings, **fit})


@pytest.mark.statistical
def test_a_plan_says_what_a_fit_takes_and_that_consistency_post_processing_takes_its_place(capsys, monkeypatch):
    rows = {"a": 3000, "b": 3000}

    def said(request):
        plan = planned(request, SCHEMA, rows)
        show_plan(plan, rows, request)
        return plan_document(request, rows, plan)["inference"], " ".join(capsys.readouterr().out.split())

    document, words = said(asked(inference=PGM))
    assert document["method"] == PGM
    assert f"about {document['cells']:,} cells" in words
    assert "fit: a graphical model of all tables (pgm): about" in words
    document, words = said(asked())
    assert document["cells"] is None
    assert "fit: consistency post-processing" in words
    document, words = said(asked("aim"))
    assert (document["method"], document["asked"]) == (PGM, PGM)
    assert said(asked("copula"))[0] is None
    assert "fit:" not in said(asked("copula"))[1]
    monkeypatch.setattr(fit_choice, "MOST_BYTES", 1)
    document, words = said(asked(inference=PGM))
    assert (document["method"], document["asked"]) == (TABLES, PGM)
    assert "fit: consistency post-processing" in words
    assert f"about {document['cells']:,} cells" in words
    assert f"Not used: {document['reason']}." in words


# The option


def test_the_option_is_short_for_the_setting():
    assert asked(inference=PGM) == asked(settings='{"inference": "pgm"}') == asked("mst", '{"inference": "pgm"}', PGM)
    assert asked("mst", '{"edges": 2}', PGM)["settings"] == {"edges": 2, "inference": "pgm"}


@pytest.mark.parametrize(
    ("algorithm", "settings", "inference", "said"),
    [
        ("mst", "{}", "exact", "'exact' is unknown"),
        ("aim", "{}", PGM, "aim offers no choice of a fit"),
        ("copula", "{}", TABLES, "copula offers no choice of a fit"),
        ("mst", '{"inference": "tables"}', PGM, "it is 'pgm', and 'tables' in the settings"),
    ],
)
def test_an_option_that_cannot_be_is_refused(algorithm, settings, inference, said):
    with pytest.raises(PrivityError, match=said):
        learning_settings({"algorithm": algorithm, "settings": settings, "inference": inference})


def test_a_file_of_a_run_holds_its_own_setting(tmp_path):
    file = tmp_path / "run.toml"
    file.write_text('format_version = 1\nalgorithm = "mst"\nepsilon = "1"\n[settings]\ninference = "pgm"\n')
    assert run_request({"spec": file})["settings"] == {"inference": "pgm"}
    with pytest.raises(PrivityError, match="options are given that the file already contains"):
        run_request({"spec": file, "inference": PGM})

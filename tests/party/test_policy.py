"""policy.toml: what a data owner agrees to, and what each rule refuses."""

from dataclasses import replace
from fractions import Fraction

import pytest

from privity.common.crypto.residues import Exponents
from privity.common.errors import Catalogue, PrivityError, ProblemsFound
from privity.common.privacy.ledger import Allowance
from privity.common.privacy.population import Population
from privity.common.privacy.run_budget import PureBudget, RhoBudget
from privity.common.protocol.run_spec import RunSpec
from privity.common.protocol.secure_sum_method import MASKS, Method, SumKind
from privity.common.runs.run_limits import RunLimits
from privity.party.policy import Approval, Policy, refuse
from privity.party.policy import load_policy as load

GOOD = {
    "format_version": "1",
    "population": '"patients of the north"',
    "epsilon_per_run": '"1/3"',
    "algorithms": '["dp-subn", "one-way"]',
    "minimum_parties": "3",
    "minimum_tolerate": "1",
    "minimum_key_bits": "3072",
}
PATIENTS = Population("patients of the north", Fraction(5, 2))
POLICY = Policy(
    population=PATIENTS,
    epsilon_per_run=Fraction(1, 3),
    delta_per_run=Fraction(0),
    algorithms=("dp-subn", "one-way"),
    minimum_parties=3,
    minimum_tolerate=1,
    minimum_key_bits=3072,
)
SHORT = SumKind(Method.PAILLIER, Exponents.SHORT)


def check_run(policy: Policy, spec: RunSpec, party: str, rows_elsewhere: int = 0) -> None:
    """As a party judges a run that asks it in."""
    here = policy.population.rows_per_person
    refuse(party, policy.refusals(spec, party, here=here, elsewhere=rows_elsewhere))


SPEC = RunSpec(
    run="run-1",
    algorithm="dp-subn",
    settings={},
    epsilon=Fraction(1, 4),
    tolerate=1,
    members=("a", "b", "c"),
    manifest_digest="0" * 64,
)


def load_policy(path, known=None, **terms):
    """The policy over the declaration of its population, with these terms."""

    def declared(name):
        assert name == PATIENTS.name
        return replace(PATIENTS, **terms)

    return load(path, declared, known)


@pytest.fixture
def write(tmp_path):
    def file(lines):
        path = tmp_path / "policy.toml"
        path.write_text("".join(f"{key} = {value}\n" for key, value in lines.items()))
        return path

    return file


def test_a_good_file_is_read_exactly(write):
    assert load_policy(write(GOOD)) == POLICY


def test_no_limit_of_a_policy_is_left_open():
    limits = {"secure_sums": ("paillier",), "exponents": ("half", "full"), "parties_per_person": 1, "evaluation": False}
    assert {name: getattr(POLICY, name) for name in limits} == limits
    with pytest.raises(TypeError, match="a policy without minimum_parties"):
        replace(POLICY, minimum_parties=None)


def test_every_fault_is_reported_at_once(write):
    lines = {
        **GOOD,
        "epsilon_per_run": '"-1"',
        "delta_per_run": '"1e3"',
        "algorithms": '"dp-subn"',
        "minimum_parties": "1",
        "minimum_key_bits": "1024",
        "colour": '"red"',
    }
    del lines["population"]
    path = write(lines)
    with pytest.raises(ProblemsFound) as caught:
        load_policy(path)
    assert {(p.field, p.rule) for p in caught.value.problems} == {
        ("colour", "additionalProperties"),
        ("", "required"),
        ("epsilon_per_run", "epsilon"),
        ("delta_per_run", "delta"),
        ("algorithms", "type"),
        ("minimum_parties", "minimum"),
        ("minimum_key_bits", "minimum"),
    }
    assert all(p.file == str(path) and p.message and p.remedy for p in caught.value.problems)


@pytest.mark.parametrize("key", sorted(GOOD))
def test_no_key_may_be_missing(write, key):
    with pytest.raises(ProblemsFound) as caught:
        load_policy(write({k: v for k, v in GOOD.items() if k != key}))
    assert [(p.rule, repr(key) in p.message) for p in caught.value.problems] == [("required", True)]


@pytest.mark.parametrize(
    ("key", "value", "rule"),
    [
        ("epsilon_per_run", "2.5", "type"),  # a float is not exact
        ("epsilon_per_run", '""', "minLength"),
        ("epsilon_per_run", '"101"', "epsilon"),
        ("epsilon_per_run", '"abc"', "epsilon"),
        ("algorithms", "[]", "minItems"),
        ("algorithms", '["one-way", "one-way"]', "uniqueItems"),
        ("minimum_tolerate", "0", "minimum"),
        ("delta_per_run", '"1"', "delta"),
        ("delta_per_run", '"-0.1"', "delta"),
        ("delta_per_run", "0", "type"),
        ("minimum_parties", '"3"', "type"),
        ("minimum_parties", "true", "type"),
        ("population", '""', "minLength"),
        ("secure_sums", "[]", "minItems"),
        ("exponents", '["half", "half"]', "uniqueItems"),
        ("format_version", "2", "format-version"),
        ("approval", '"maybe"', "enum"),
        ("parties_per_person", "1.5", "type"),
        ("attributes", "[]", "minItems"),
    ],
)
def test_each_key_has_its_rule(write, key, value, rule):
    with pytest.raises(ProblemsFound) as caught:
        load_policy(write({**GOOD, key: value}))
    assert [(p.field, p.rule) for p in caught.value.problems] == [(key, rule)]


def test_what_is_left_out_is_the_strictest(write):
    policy = load_policy(write(GOOD))
    assert policy.approval is Approval.MANUAL
    assert (policy.parties_per_person, policy.attributes, policy.evaluation) == (1, None, False)


def test_a_person_with_several_rows_counts_with_all_of_them(write):
    policy = load_policy(write({**GOOD, "epsilon_per_run": '"1"'}), rows_per_person=3)
    check_run(policy, replace(SPEC, epsilon=Fraction(1, 3)), "a")
    with pytest.raises(PrivityError, match=r"epsilon 0\.5, 1\.5 for a person with several rows, is above 1"):
        check_run(policy, replace(SPEC, epsilon=Fraction(1, 2)), "a")
    with pytest.raises(PrivityError, match=r"epsilon 0\.25, 1\.25 for a person"):
        check_run(policy, SPEC, "a", rows_elsewhere=2)
    assert policy.allowance(SPEC, 3 + 1) == Allowance(Fraction(1), Fraction(0), PureBudget(SPEC.epsilon))


def test_a_delta_counts_for_all_rows_of_a_person_too(write):
    terms = {"total_delta": Fraction(1, 1000), "rows_per_person": 2}
    policy = load_policy(write({**GOOD, "algorithms": '["copula"]'}), **terms)
    spec = replace(SPEC, algorithm="copula", delta=Fraction(1, 5000))
    assert policy.epsilon_per_run == Fraction(1, 3)
    # Gaussian noise, the default: rho is 4 times as large, and delta stays. A bit more than twice the epsilon.
    most = policy.cost_of_a_person(spec, 0)
    assert most.delta == spec.delta
    assert 2 * SPEC.epsilon < most.epsilon < Fraction(11, 5) * SPEC.epsilon
    small = replace(spec, epsilon=Fraction(1, 10))
    rho_budget = RhoBudget(small.epsilon, spec.delta)
    assert policy.allowance(small, 2) == Allowance(policy.cost_of_a_person(small, 0).epsilon, spec.delta, rho_budget)
    with pytest.raises(
        PrivityError, match=r"epsilon 0\.25, 0\.\d+ for a person with several rows, is above 0\.333333 a run"
    ):
        check_run(policy, spec, "a")
    check_run(policy, replace(spec, epsilon=Fraction(1, 10)), "a")
    # Laplace noise: 2 e^(1/10) times the delta.
    laplace = replace(spec, epsilon=Fraction(1, 10), settings={"composition": "advanced"})
    most = policy.cost_of_a_person(laplace, 0)
    assert most.epsilon == Fraction(1, 5)
    assert float(most.delta / spec.delta) == pytest.approx(2.2103, abs=1e-3)
    check_run(policy, laplace, "a")
    with pytest.raises(
        PrivityError, match=r"delta 0\.0005, 0\.\d+ for a person with several rows, is above 0\.001 a run"
    ):
        check_run(policy, replace(laplace, delta=Fraction(1, 2000)), "a")
    with pytest.raises(PrivityError, match="with a delta needs people at one party"):
        check_run(policy, replace(laplace, epsilon=Fraction(1, 20)), "a", rows_elsewhere=1)
    for settings in ({"composition": ["zcdp"]}, {"composition": "none"}):
        assert policy.cost_of_a_person(replace(laplace, settings=settings), 0).epsilon >= Fraction(1, 5)


def test_people_at_more_parties_than_the_manifest_says_are_refused(write):
    policy = load_policy(write({**GOOD, "parties_per_person": "2"}))
    policy.check_manifest(2, "a")
    with pytest.raises(PrivityError, match="is at 1 parties, not 2"):
        policy.check_manifest(1, "a")


@pytest.mark.parametrize(
    ("asked", "reason"), [(None, "about every attribute"), (("age", "sex"), "the attribute 'sex' is not among")]
)
def test_attributes_that_are_not_allowed_are_refused(write, asked, reason):
    policy = load_policy(write({**GOOD, "attributes": '["age", "ward"]'}))
    check_run(policy, replace(SPEC, attributes=("age",)), "a")
    with pytest.raises(PrivityError, match=reason):
        check_run(policy, replace(SPEC, attributes=asked), "a")


def test_names_that_stand_for_nothing_are_faults(write):
    lines = {
        **GOOD,
        "delta_per_run": '"0.0001"',
        "algorithms": '["dp-subn", "magic"]',
        "attributes": '["age", "[/red]"]',
    }
    path = write(lines)
    with pytest.raises(ProblemsFound) as caught:
        load_policy(path, ("age", "sex"))
    keys = list(lines)
    assert [(p.field, p.rule, p.line) for p in caught.value.problems] == [
        ("algorithms[1]", "known", 1 + keys.index("algorithms")),
        ("attributes[1]", "known", 1 + keys.index("attributes")),
    ]
    assert "Write some of: age, sex." in caught.value.message
    assert load_policy(write({**GOOD, "attributes": '["wing"]'})).attributes == ("wing",), "no schema is known there"


def test_an_unknown_secure_sum_is_named(write):
    with pytest.raises(ProblemsFound) as caught:
        load_policy(write({**GOOD, "secure_sums": '["shamir"]'}))
    assert [(p.field, p.rule) for p in caught.value.problems] == [("secure_sums[0]", "enum")]


def test_an_absent_file_is_an_error_and_no_policy(tmp_path):
    with pytest.raises(PrivityError) as caught:
        load_policy(tmp_path / "policy.toml")
    assert caught.value.code == "file-missing"


def test_a_policy_for_people_who_are_not_declared_is_none(write):
    def nobody(name):
        raise PrivityError(Catalogue.POPULATION_UNDECLARED, population=name, file="ledger", known="none")

    with pytest.raises(PrivityError, match="'patients of the north' is not declared"):
        load(write(GOOD), nobody)


def test_one_run_may_be_allowed_more_than_all_of_them_it_is_the_total_that_binds(write):
    assert load_policy(write(GOOD), total_epsilon=Fraction(1, 10)).epsilon_per_run == Fraction(1, 3)


@pytest.mark.parametrize("content", [b"population = ", b"\xff\xfe", b"a = 1\na = 2\n"])
def test_a_file_that_is_not_toml_is_unreadable(tmp_path, content):
    path = tmp_path / "policy.toml"
    path.write_bytes(content)
    with pytest.raises(PrivityError, match="not TOML") as caught:
        load_policy(path)
    assert caught.value.code == "file-unreadable"


def test_a_run_within_every_limit_is_allowed():
    check_run(POLICY, SPEC, "b")
    check_run(POLICY, replace(SPEC, epsilon=POLICY.epsilon_per_run, tolerate=2), "b")


@pytest.mark.parametrize(
    ("spec", "party", "reason"),
    [
        (replace(SPEC, algorithm="privbayes"), "a", "algorithm 'privbayes'"),
        (replace(SPEC, epsilon=Fraction(1, 3) + Fraction(1, 10**20)), "a", "above 1/3"),
        (replace(SPEC, members=("a", "b")), "a", "fewer than 3 parties"),
        (replace(SPEC, tolerate=0), "a", "fewer than 1 colluding"),
        (replace(SPEC, tolerate=3), "a", "as many colluding parties"),
        (SPEC, "d", "d is not a member"),
        (replace(SPEC, secure_sum=MASKS), "a", "secure sums by 'masks'"),
        (replace(SPEC, secure_sum=SHORT), "a", "'short' exponents"),
    ],
)
def test_each_rule_refuses(spec, party, reason):
    with pytest.raises(PrivityError, match=reason) as caught:
        check_run(POLICY, spec, party)
    assert caught.value.code == "refused-by-policy"
    assert caught.value.message.startswith(f"{party} refuses the run")


def test_a_refusal_names_every_rule_that_is_broken():
    spec = replace(SPEC, algorithm="privbayes", epsilon=Fraction(1), members=("a", "b"), secure_sum=MASKS)
    with pytest.raises(PrivityError) as caught:
        check_run(POLICY, spec, "a")
    assert caught.value.message == (
        "a refuses the run: algorithm 'privbayes' is not among those allowed; epsilon 1 is above 0.333333 a run;"
        " fewer than 3 parties; secure sums by 'masks' are not among those allowed"
    )


def test_limits_survive_a_document_and_refuse_the_same():
    limits = RunLimits.of_limits(POLICY.limits())
    for spec in (SPEC, replace(SPEC, epsilon=Fraction(1), tolerate=0), replace(SPEC, secure_sum=SHORT)):
        assert limits.refusals(spec, "a", key_bits=2048) == POLICY.refusals(spec, "a", key_bits=2048)
        assert limits.allowance(spec, 2) == POLICY.allowance(spec, 2)


def test_masks_and_short_exponents_need_the_owners_word(write):
    open_to = load_policy(write({**GOOD, "secure_sums": '["masks", "paillier"]', "exponents": '["short"]'}))
    check_run(open_to, replace(SPEC, secure_sum=MASKS), "a")
    check_run(open_to, replace(SPEC, secure_sum=SHORT), "a")
    with pytest.raises(PrivityError, match="'half' exponents"):
        check_run(open_to, SPEC, "a")


def test_a_short_key_is_refused():
    assert POLICY.refusals(SPEC, "a", key_bits=3072) == []
    assert POLICY.refusals(SPEC, "a", key_bits=3071) == ["a 3071-bit Paillier modulus is shorter than 3072 bits"]


def test_the_allowance_is_what_the_run_declared_within_what_is_allowed():
    assert POLICY.allowance(SPEC, 1) == Allowance(Fraction(1, 4), Fraction(0), PureBudget(SPEC.epsilon))
    assert POLICY.allowance(replace(SPEC, epsilon=Fraction(9)), 1).epsilon == Fraction(1, 3)


def test_a_run_may_spend_less_delta_than_all_of_them(write):
    total = Fraction(1, 1000)
    both = load_policy(write({**GOOD, "delta_per_run": '"0.0001"'}), total_delta=total)
    assert (both.population.total_delta, both.delta_per_run) == (total, Fraction(1, 10_000))
    one = load_policy(write(GOOD), total_delta=total)
    assert one.delta_per_run == Fraction(1, 1000)
    spec = replace(SPEC, delta=Fraction(1, 5000))
    check_run(one, spec, "a")
    with pytest.raises(PrivityError, match=r"delta 0\.0002 is above 0\.0001 a run"):
        check_run(both, spec, "a")


def test_rows_a_person_are_published_only_with_a_price() -> None:
    people = replace(PATIENTS, rows_per_person=3)
    policy = replace(POLICY, population=people, published=("minimum_parties", "algorithms"))
    assert policy.publication() == (RunLimits(minimum_parties=3, algorithms=POLICY.algorithms), 1)
    for price in ("epsilon_per_run", "delta_per_run"):
        limits, of_a_person = replace(policy, published=(price,)).publication()
        assert (set(limits.limits()), of_a_person) == ({price}, 3)


@pytest.mark.parametrize(("key", "value"), [("runs_per_day", "3"), ("epsilon_per_day", '"1"')])
def test_a_limit_of_a_day_that_would_bound_nothing_is_refused(write, key, value):
    with pytest.raises(ProblemsFound, match="a person approves each run"):
        load_policy(write({**GOOD, key: value}))
    policy = load_policy(write({**GOOD, "approval": '"by-policy"', key: value}))
    assert getattr(policy, key) == (3 if key == "runs_per_day" else 1)

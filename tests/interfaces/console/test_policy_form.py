"""Any values of the form become the policy that they say, and the rest of the file keeps its bytes."""

from __future__ import annotations

import re
import tomllib
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common import formats
from privity.common.errors import PrivityError
from privity.common.privacy.population import Population
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.interfaces.console import policy_form as forms
from privity.party.policy import Policy, load_policy

pytestmark = pytest.mark.unit

PEOPLE = Population("people", Fraction(4), Fraction(1, 1000), 1)
NAMES = ("age", "sex", 'the "third"', "fourth\\", "größe")
LINES = {
    "epsilon_per_run": 'epsilon_per_run = "1"  # of the board\n',
    "delta_per_run": "# none\ndelta_per_run = '0' # pure\n",
    "algorithms": 'algorithms = [ # what we know\n    "dp-subn",  # by default\n    "jtree",\n]\n',
    "minimum_parties": "minimum_parties   =   3 # at least\n",
    "minimum_tolerate": "minimum_tolerate=1\n",
    "minimum_key_bits": "\nminimum_key_bits = 3072\n",
    "approval": 'approval = """manual"""\n',
    "published": "published = ['algorithms', 'exponents']\n",
    "attributes": 'attributes = ["sex"]\n',
}
A_DAY = {"runs_per_day": "3", "epsilon_per_day": "2.5"}
NEEDED = ("epsilon_per_run", "algorithms", "minimum_parties", "minimum_tolerate", "minimum_key_bits")
HEAD = '# Ours, since spring.\nformat_version = 1\npopulation = "people"  # all of them\n'


def read(path: Path) -> Policy:
    return load_policy(path, lambda _name: PEOPLE, NAMES)


@st.composite
def files(draw: st.DrawFn) -> str:
    keys = draw(st.permutations([key for key in LINES if key in NEEDED or draw(st.booleans())]))
    text = HEAD + "".join(LINES[key] for key in keys)
    text = text if draw(st.booleans()) else text.rstrip("\n")
    text = draw(st.sampled_from(("", forms.BOM))) + text
    return text if draw(st.booleans()) else text.replace("\n", "\r\n")


def some(names: tuple[str, ...], least: int = 1) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(names), min_size=least, unique=True)


def values() -> st.SearchStrategy[forms.Typed]:
    texts: dict[str, st.SearchStrategy[str | list[str]]] = {field.key: st.just("") for field in forms.FIELDS}
    for field in forms.FIELDS:
        if field.several:
            texts[field.key] = some(field.choices, field.key != "published")
        elif field.choices:
            texts[field.key] = st.sampled_from(field.choices)
    numbers = {"minimum_parties": 2, "minimum_tolerate": 1, "minimum_key_bits": 2048, "parties_per_person": 1}
    texts |= {key: st.integers(least, least + 900).map(str) for key, least in numbers.items()}
    texts["epsilon_per_run"] = st.sampled_from(("1", "0.5", "1/3", " 2 ", "1e-2"))
    texts["delta_per_run"] = st.sampled_from(("", "0", "1e-9", "0.000001"))
    texts["attributes"] = some(NAMES, 0).map("\n".join)
    return st.fixed_dictionaries(texts)


@given(text=files(), typed=values(), kept=st.sets(st.sampled_from([field.key for field in forms.FIELDS])))
def test_the_file_says_what_was_typed_and_keeps_the_rest(text: str, typed: forms.Typed, kept: set[str]) -> None:
    was = forms.shown(forms.checked(text, read), text)
    typed |= {key: was[key] for key in kept}
    after = forms.changed_text(text, was, typed)
    policy = forms.checked(after, read)
    assert forms.is_same(policy, typed)
    # Read once more, the form shows what was typed.
    again = forms.shown(policy, after)
    assert forms.changed_text(after, again, typed) == after
    end = "\r\n" if "\r" in text else "\n"
    for key in kept & LINES.keys():
        line = LINES[key].strip("\n").replace("\n", end)
        assert (line in after) == (line in text)
    for comment in ("# Ours, since spring.", "# all of them", "# of the board", "# at least"):
        assert comment in after
    assert after.startswith(forms.BOM) == text.startswith(forms.BOM)
    written = tomllib.loads(after.removeprefix(forms.BOM))
    assert written["population"] == "people"
    assert not kept - tomllib.loads(text.removeprefix(forms.BOM)).keys() & written.keys()


LISTS = (
    'algorithms = [ # what we know\n    "dp-subn",  # by default\n    "jtree",\n]\n',
    'algorithms = [\n    # quick\n    "dp-subn", "jtree", # two\n    # slow\n    "aim"\n    # "mst"\n]  # all\n',
    "algorithms = ['dp-subn' , \"jtree\"] # two\n",
    'algorithms = [ "dp-subn", # "#1"\n "jtree" ]\n',
)


@given(line=st.sampled_from(LISTS), names=some(tuple(ALGORITHMS)))
def test_comments_within_a_list_stay_or_are_named(line: str, names: list[str]) -> None:
    text = HEAD + "".join(line if key == "algorithms" else LINES[key] for key in NEEDED)
    was = forms.shown(forms.checked(text, read), text)
    after = forms.changed_text(text, was, was | {"algorithms": names})
    assert set(forms.checked(after, read).algorithms) == set(names)
    lost = forms.lost_comments(text, after)
    comments = re.findall(r"#[^\n]*", text)
    assert sorted([*lost, *re.findall(r"#[^\n]*", after)]) == sorted(comments)
    # What is put after a list's last comment, the library may write into that comment: then the list is made anew.
    if {*was["algorithms"]} <= {*names} and line != LISTS[1]:
        assert not lost


def test_what_looks_like_a_comment_in_a_text_is_none() -> None:
    before = 'a = "# no"  # one\nb = \'#no\' # one\nc = """\n# no " \\""" # no\n""" # two\n'
    assert forms.lost_comments(before, "") == ["# one", "# one", "# two"]
    assert forms.lost_comments(before, "# one\n#two\n") == ["# one", "# two"]


@given(text=files())
def test_what_is_not_changed_is_not_touched(text: str) -> None:
    was = forms.shown(forms.checked(text, read), text)
    assert forms.changed_text(text, was, was) == text


@given(
    key=st.sampled_from(("epsilon_per_run", "minimum_parties", "minimum_key_bits", "approval", "evaluation")),
    text=st.text(st.characters(exclude_categories=["Cs"]), max_size=12).filter(lambda text: not text.strip().isalnum()),
)
def test_nonsense_is_a_fault_beside_its_field(key: str, text: str) -> None:
    if "/" in text or "." in text or "-" in text or "+" in text:
        text = "a" + text
    file = HEAD + "".join(LINES[key] for key in NEEDED)
    was = forms.shown(forms.checked(file, read), file)
    with pytest.raises(PrivityError) as refused:
        forms.checked(forms.changed_text(file, was, was | {key: text}), read)
    assert set(forms.faults(refused.value)) == {key}


def test_all_faults_are_told_at_once() -> None:
    file = HEAD + "".join(LINES[key] for key in NEEDED)
    was = forms.shown(forms.checked(file, read), file)
    wrong: forms.Typed = {
        "epsilon_per_run": "much",
        "delta_per_run": "2",
        "minimum_parties": "1",
        "algorithms": [],
        "attributes": "height",
    }
    with pytest.raises(PrivityError) as refused:
        forms.checked(forms.changed_text(file, was, was | wrong), read)
    assert set(forms.faults(refused.value)) == set(wrong)
    (algorithms,) = (field for field in forms.FIELDS if field.key == "algorithms")
    assert len(ALGORITHMS) == len(algorithms.choices)


def test_limits_of_a_day_come_with_approval_by_policy_and_go_when_they_are_emptied() -> None:
    file = HEAD + "".join(LINES[key] for key in NEEDED)
    was = forms.shown(forms.checked(file, read), file)
    typed = was | A_DAY | {"approval": "by-policy"}
    after = forms.changed_text(file, was, typed)
    policy = forms.checked(after, read)
    assert (policy.runs_per_day, policy.epsilon_per_day) == (3, Fraction(5, 2))
    assert forms.is_same(policy, typed)
    emptied = forms.changed_text(after, typed, typed | dict.fromkeys(A_DAY, ""))
    assert (forms.checked(emptied, read).runs_per_day, forms.checked(emptied, read).epsilon_per_day) == (None, None)
    with pytest.raises(PrivityError) as refused:
        forms.checked(forms.changed_text(file, was, was | A_DAY), read)
    assert set(forms.faults(refused.value)) == set(A_DAY)


def test_every_key_of_the_format_has_a_field() -> None:
    assert set(forms.LABELS) == {*formats.load("policy")["properties"]} - {"format_version", "population"}
    assert all(field.hint for field in forms.FIELDS)

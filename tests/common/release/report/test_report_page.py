"""The report of a release: every algorithm has one, it says what it must in its order, and hostile names are text."""

import itertools
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pandas as pd
import pytest

from privity.common.data.schema import parse_schema
from privity.common.formats import require
from privity.common.release.release_contents import REPORT
from privity.common.release.report.overview import overview
from privity.common.release.report.repeat_command import run_request
from privity.common.release.report.report_page import report_of, report_page, write_with_report
from privity.synthesizers import SYNTHESIZERS
from tests.harness.long import long_but
from tests.harness.releases import release_of
from tests.harness.tables import FIELDS, people

SCHEMA = parse_schema({"name": "people", "fields": FIELDS}, "people")
VOID = {"meta", "br", "input", "img", "link"}


class Page(HTMLParser):
    """The text of a page in reading order, its headings, and whether every element is closed in turn."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []
        self.headings: list[tuple[int, str]] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if re.fullmatch("h[1-6]", tag):
            self.headings.append((int(tag[1]), ""))

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.words.append(data)
        if any(re.fullmatch("h[1-6]", tag) for tag in self.open):
            level, text = self.headings[-1]
            self.headings[-1] = level, text + data

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def page_of(folder, algorithm="one-way", frame=None, schema=SCHEMA, **rest) -> str:
    release, synthetic = release_of(folder, algorithm, people(300) if frame is None else frame, schema, **rest)
    return report_page(overview(release, synthetic.table))


@pytest.mark.statistical
@pytest.mark.parametrize(
    "algorithm", long_but(["one-way", "dp-subn", "mst", "copula"], sorted({*SYNTHESIZERS} - {"discover"}))
)
def test_every_algorithm_has_a_report_and_the_folder_gives_the_same_one(algorithm, tmp_path):
    release, synthetic = release_of(tmp_path, algorithm, people(400), SCHEMA)
    write_with_report(tmp_path / "release", release, synthetic)
    written = (tmp_path / "release" / REPORT).read_text(encoding="utf-8")
    assert report_of(tmp_path / "release") == written
    write_with_report(tmp_path / "again", release, synthetic)
    assert (tmp_path / "again" / REPORT).read_text(encoding="utf-8") == written
    page = Page(written)
    for attribute in SCHEMA.attributes:
        assert all(label in page.text for label in attribute.labels)
    # Everything that was learnt is in the picture.
    graph = written.split('<svg class="picture graph"')[1].split("</svg>")[0]
    assert all(name in graph for name in SCHEMA.names)
    assert "Estimated from" in page.text
    assert len(written) < 400_000


def test_without_noisy_tables_the_synthetic_rows_are_shown_alone(tmp_path):
    release, synthetic = release_of(tmp_path, "independent", people(400), SCHEMA)
    # As over several parties, each of which keeps its tables.
    release.marginals["tables"] = []
    page = Page(report_page(overview(release, synthetic.table)))
    assert "No attribute was measured as such" in page.text
    assert "Estimated from" not in page.text
    assert page.text.count("Not measured as such: the synthetic rows only.") == 5
    assert "5 not measured" in page.text
    assert "10 not measured together" in page.text


@pytest.mark.statistical
@pytest.mark.parametrize("encoding", ["binary", "gray", "hierarchical", "vanilla"])
def test_what_is_measured_of_bits_and_generalisations_is_shown(encoding, tmp_path):
    settings = {"encoding": encoding}
    page = Page(page_of(tmp_path, "privbayes", people(2000), epsilon="20", settings=settings))
    assert "Estimated from" in page.text
    if encoding == "binary":
        assert "age:bit0" in page.text


def test_the_page_is_read_in_its_order_and_its_headings_are_nested(tmp_path):
    parties = {"north": 100, "south": 120, "west": 80}
    page = Page(page_of(tmp_path, "dp-subn", parties=parties))
    assert page.headings[0] == (1, "Synthetic table of people")
    levels = [level for level, _ in page.headings]
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    sections = [text for level, text in page.headings if level == 2]
    assert sections == [
        "How good is it?", "How well are people protected?", "What not to use it for", "May it be published?",
        "Every attribute", "Which attributes may be studied together", "Means and shares, with intervals",
        "What was measured", "The guarantee", "Privacy budget", "Who published it, and its files", "What was sent",
        "To repeat the run", "How the figures are made",
    ]  # fmt: skip
    contents = page.text[: page.text.index("A bar")]
    places = [contents.rindex(name) for name in sections[4:] if name in contents]
    assert len(places) == 10
    assert places[1:] == sorted(places[1:])
    anchors = {attrs["id"] for _, attrs in page.tags if attrs.get("id")}
    targets = [attrs["href"] for tag, attrs in page.tags if tag == "a"]
    assert all(href.startswith("#") and href[1:] in anchors for href in targets)
    for words in (
        "A simulation of 3 data owners",
        "This was a simulation",
        "party north",
        "any coalition of up to 1 party",
    ):
        assert words in page.text, words
    assert "privity simulate --data TABLE" in page.text


def test_the_page_needs_no_network_and_no_script(tmp_path):
    written = page_of(tmp_path)
    page = Page(written)
    assert {tag for tag, _ in page.tags} & {"script", "img", "link", "iframe", "object", "form"} == set()
    policies = [attrs["content"] for tag, attrs in page.tags if attrs.get("http-equiv") == "Content-Security-Policy"]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'"]
    assert not re.search(r"(?:https?:)?//[a-z]", written.replace("http-equiv", ""))
    for tag, attrs in page.tags:
        assert not [name for name in attrs if name.startswith("on")], tag


def test_every_table_has_a_caption_and_its_heads_say_of_what_they_are(tmp_path):
    written = page_of(tmp_path, "dp-subn", parties={"a": 150, "b": 150})
    tables = re.findall(r"<table.*?</table>", written, re.DOTALL)
    assert len(tables) > 10
    assert all(re.match(r"<table[^>]*>\s*<caption>", table) for table in tables)
    assert not re.findall(r"<th(?![^>]*scope=)[ >]", written)


LONG = "x" * 300
HOSTILE = ['<script>alert("1")</script>', "a & b", 'it\'s "quoted"', "</td></svg><h1>", "عمر المريض", "😀" * 30, LONG]


def hostile_schema() -> tuple[dict, pd.DataFrame]:
    fields = [
        {"name": name, "type": "string", "categories": [*HOSTILE, "{{ 7 * 7 }}", "\u202eevil", "plain"]}
        for name in [*HOSTILE, "{{ 7 * 7 }}"]
    ]
    frame = pd.DataFrame({field["name"]: field["categories"] * 20 for field in fields})
    return {"name": '<b>bold</b> & "more"', "title": "<i>", "fields": fields}, frame


@pytest.mark.statistical
@pytest.mark.parametrize("algorithm", ["dp-subn", "jtree", pytest.param("copula", marks=pytest.mark.long)])
def test_hostile_names_and_categories_are_text(algorithm, tmp_path):
    document, frame = hostile_schema()
    schema = parse_schema(document, "s")
    release, synthetic = release_of(
        tmp_path, algorithm, frame, schema, epsilon="100", parties={"<img src=x>": 100, "'\"&": 100}
    )
    release.run["constraints"] = [{"rule": "<u>age</u> >= 15", "rejected": 0.25}]
    written = report_page(overview(release, synthetic.table))
    page = Page(written)
    known = {
        *(
            "html",
            "head",
            "meta",
            "title",
            "style",
            "body",
            "a",
            "header",
            "h1",
            "h2",
            "h3",
            "h4",
            "p",
            "nav",
            "ol",
            "li",
            "ul",
        ),
        *("main", "section", "dl", "div", "dt", "dd", "table", "caption", "thead", "tbody", "tr", "th", "td", "bdi"),
        *("details", "summary", "span", "strong", "figure", "figcaption", "pre", "code"),
        *("article", "svg", "g", "path", "rect", "text", "defs", "marker"),
    }
    assert {tag for tag, _ in page.tags} <= known
    for text in (*HOSTILE, "{{ 7 * 7 }}", r"\u202eevil"):
        assert " ".join(text.split()) in page.text
    assert "<u>age</u> >= 15" in page.text
    assert "25.00\u00a0%" in written
    attributes = {(tag, name) for tag, attrs in page.tags for name in attrs}
    assert ("path", "onload") not in attributes
    assert not {name for _, name in attributes} & {"src", "onerror"}


def test_constraints_have_a_section_only_if_the_run_tells_of_them(tmp_path):
    assert "Declared rules" not in page_of(tmp_path)


def test_the_run_request_of_the_report_is_one(tmp_path):
    release, _ = release_of(tmp_path, "dp-subn", people(300), SCHEMA, parties={"a": 100, "b": 200})
    request = run_request(release)
    require(json.loads(json.dumps(request)), "run_request", "request")
    assert run_request(release_of(tmp_path, "dp-subn", people(300), SCHEMA)[0]) is None


@pytest.mark.statistical
def test_attributes_that_stand_alone_and_tables_below_the_noise_floor_are_warned_of(tmp_path):
    page = Page(page_of(tmp_path, "dp-subn", epsilon="0.01"))
    assert "below the noise floor" in page.text
    assert "The distribution of 5 attributes is mostly noise" in page.text
    assert "modelled alone" in page.text
    clear = Page(page_of(tmp_path, "dp-subn", people(5000), epsilon="100"))
    assert "marginals below the noise floor" not in clear.text
    assert "modelled alone" not in clear.text.replace("attributes modelled alone", "")


def test_tables_over_some_of_the_rows_are_warned_of(tmp_path):
    release, synthetic = release_of(tmp_path, "one-way", people(300), SCHEMA, parties={"a": 300, "b": 200})
    page = Page(report_page(overview(release, synthetic.table)))
    assert "Some tables cover some of the parties only" in page.text
    assert "5 tables over 300 of 500 rows" in page.text


def test_many_categories_are_added_up_in_one_row(tmp_path):
    names = [f"c{place:04}" for place in range(700)]
    schema = parse_schema({"fields": [{"name": "code", "type": "string", "categories": names}, FIELDS[1]]}, "s")
    frame = pd.DataFrame({"code": names * 2, "ward": ["north", "south"] * 700})
    written = page_of(tmp_path, frame=frame, schema=schema)
    rows = written.split('<h3 id="attribute-1"')[1].split("</table>")[0].count('<th scope="row">')
    assert rows == 250
    assert "451 others" in written
    assert "689 others" in written


def test_of_very_many_noisy_marginals_the_first_are_listed(tmp_path, monkeypatch):
    monkeypatch.setattr("privity.common.release.report.report_page.MOST_MARGINALS", 2)
    release, synthetic = release_of(tmp_path, "mst", people(300), SCHEMA)
    page, number = report_page(overview(release, synthetic.table)), len(release.tables())
    assert f"The first noisy marginals: 2 of {number}; <code>marginals.json</code> has all</summary>" in page
    (listed,) = re.findall(r"<caption>The first noisy marginals</caption>.*?<tbody>(.*?)</tbody>", page, re.DOTALL)
    assert listed.count("<tr>") == 2


def test_one_attribute_alone_has_a_page(tmp_path):
    schema = parse_schema({"fields": FIELDS[1:2]}, "s")
    page = Page(page_of(tmp_path, frame=people(200)[["ward"]], schema=schema))
    assert "There is one attribute only." in page.text


@pytest.mark.statistical
def test_numbers_are_decimals(tmp_path):
    parties = {"a": 150, "b": 150}
    release, synthetic = release_of(tmp_path, "dp-subn", people(300), SCHEMA, "0.7", parties=parties)
    release.run["delta"] = release.privacy["parties"][0]["delta_per_row"] = "1/1000000000"
    release.privacy["parties"][0]["delta_per_person"] = release.privacy["observers"][0]["delta"] = "1/1000000000"
    text = Page(report_page(overview(release, synthetic.table))).text
    assert "epsilon 0.7, delta 1e-9 for a person" in text
    assert "--delta 1e-9" in text
    assert not re.findall(r"(?<![\w/])\d+/\d+|\d(?:\.\d+)?e-0", text)
    release.run["epsilon"] = "1/3"
    # No decimal is exact, and the command must be.
    assert "--epsilon 1/3" in report_page(overview(release, synthetic.table))


def test_the_first_screen_is_for_this_release(tmp_path):
    noise = Page(page_of(tmp_path, "one-way", epsilon="0.01")).text
    assert "0 within 1 percentage point" in noise
    assert "Dependences of all attributes: in the synthetic rows they depend on nothing." in noise
    assert "right in at most 50.3 of 100 cases" in noise
    (tmp_path / "clear").mkdir()
    clear = Page(page_of(tmp_path / "clear", "one-way", people(5000), epsilon="100")).text
    assert "5 within 1 percentage point" in clear
    assert "right in at most 100 of 100 cases" in clear
    assert "Yes, on two conditions: its owner accepts epsilon 100 for a person" in clear
    assert "no person has more than one row." in clear


def test_what_the_owners_scored_is_on_the_first_screen(tmp_path):
    release, synthetic = release_of(tmp_path, "one-way", people(300), SCHEMA, parties={"a": 150, "b": 150})
    scores = [
        {"measure": "total variation distance", "ways": 2, "tables": 10, "sum": 3, "value": 0.0312},
        {"measure": "accuracy", "attribute": "smoker", "majority": 0.6, "sum": 200, "value": 0.71},
    ]
    told = {"scores": scores, "half_width": 0.01, "epsilon": "1/2"}
    text = Page(report_page(overview(replace(release, scores=told), synthetic.table))).text
    assert "distributions of two attributes are 3.1 % off on average" in text
    assert "gets smoker right in 71 % of real rows, the most frequent value alone in 60 %" in text


def test_the_guess_goes_by_rho_where_the_run_was_charged_in_it(tmp_path):
    release, synthetic = release_of(tmp_path, "one-way", people(300), SCHEMA, "1", {"delta": "1e-9"})
    release.run["delta"] = "1/1000000000"
    text = Page(report_page(overview(release, synthetic.table))).text
    assert "is right in at most 54.4 of 100 cases with this release in hand" in text
    assert "by the rho that the run might have spent; epsilon and delta alone would allow 73.2" in text
    assert "Delta 1e-9 is a probability that may come on top of that: 1 in 1 000 000 000." in text
    # A statement that does not tell what was charged in rho leaves epsilon and delta.
    release.privacy["phases"][0]["mechanisms"].append("noise of another kind")
    text = Page(report_page(overview(release, synthetic.table))).text
    assert "is right in at most 73.2 of 100 cases" in text
    assert "by the rho" not in text


def test_epsilon_is_rounded_up_for_people_and_exact_for_experts(tmp_path):
    release, synthetic = release_of(tmp_path, "one-way", people(300), SCHEMA, "1")
    release.run["epsilon"] = "1"
    (party,) = release.privacy["parties"]
    party["epsilon_per_person"] = party["epsilon_per_row"] = "999995/1000000"
    release.privacy["observers"][0]["epsilon"] = "999995/1000000"
    text = Page(report_page(overview(release, synthetic.table))).text
    assert "its owner accepts epsilon 1 for a person" in text
    assert "The run was allowed epsilon 1 for a single row, and 0.999995 was charged" in text
    assert "Of a person epsilon 0.999995, delta 0" in text


def test_pairs_without_a_dependence_are_named(tmp_path):
    page = page_of(tmp_path, "dp-subn", epsilon="0.5")
    kinds = "No dependence found|Too noisy to tell|Not measured together"
    named = re.findall(rf"<summary>({kinds}): (\d+) pairs?</summary>(.*?)</details>", page, re.DOTALL)
    assert named
    for _, number, listed in named:
        assert sum(item.count("<bdi>") - 1 for item in re.findall("<li>.*?</li>", listed)) == int(number)


def test_what_the_guarantee_rests_on_and_what_nobody_protects_is_said(tmp_path):
    alone = Page(page_of(tmp_path, "one-way")).text
    assert "The owner ran the software unchanged" in alone
    assert "fixed without looking at the rows" in alone
    assert "No file of the release proves any of this" in alone
    assert "That every real row fits the schema and its rules." in alone
    assert "Showing that a case exists: a synthetic row may combine values that no real row can have together." in alone
    (tmp_path / "several").mkdir()
    several = Page(page_of(tmp_path / "several", "one-way", parties={"a": 150, "b": 150})).text
    assert "Owners and curator ran the software unchanged" in several


def test_where_a_table_comes_from_is_told_as_far_as_the_files_tell_it(tmp_path):
    origin = {"title": "Patients of <b>2025</b>", "source": "the ward's registry", "license": "CC0"}
    schema = parse_schema({"name": "people", "fields": FIELDS, **origin}, "people")
    text = Page(page_of(tmp_path, schema=schema)).text
    start = text.index("Where it comes from")
    for words in ("Table people", *origin.values(), "Algorithm one-way", "The files state no date, no version"):
        start = text.index(words, start)


def test_missing_values_and_absent_rows_are_explained_where_there_are_any(tmp_path):
    assert "(missing)” is a value" not in page_of(tmp_path)
    fields = [{**FIELDS[1], "missingValues": [""]}, FIELDS[2]]
    schema = parse_schema({"fields": fields, "absentRows": True}, "s")
    frame = people(200)[["ward", "smoker"]].assign(person=range(200), visit=1)
    (tmp_path / "absent").mkdir()
    release, synthetic = release_of(tmp_path / "absent", "one-way", frame, schema, person="person", order="visit")
    release.privacy["rows_per_person"] = release.privacy["parties"][0]["rows_per_person"] = 3
    text = Page(report_page(overview(release, synthetic.table))).text
    assert "“(missing)” is a value like any other: rows in which nothing was entered." in text
    assert "A person has 3 places for rows, and a place without a row counts as “(absent)”." in text
    assert "how many it has is protected too" in text


def test_whether_it_may_be_published_depends_on_what_was_declared_public(tmp_path):
    fields = [{**FIELDS[1], "readOffRows": "organiser"}, FIELDS[2]]
    schema = parse_schema({"fields": fields, "types": "as stored"}, "s")
    release, synthetic = release_of(tmp_path, "one-way", people(200)[["ward", "smoker"]], schema)
    text = Page(report_page(overview(release, synthetic.table))).text
    assert "Yes, on 4 conditions: its owner accepts epsilon 2 for a person" in text
    assert "what the schema declares of ward is public, as the organiser declared: it was read off the rows;" in text
    assert "the types of the columns are public, as the data owner declared." in text


@pytest.mark.statistical
def test_strengths_have_error_bars(tmp_path):
    page = page_of(tmp_path, "dp-subn", people(5000), epsilon="10")
    assert re.search(r"<p>0\.\d\d ± 0\.\d\d measured, 0\.\d\d synthetic: <strong>dependence kept", page)
    assert re.search(r'<td class="number">0\.\d\d ± 0\.\d\d</td>', page)

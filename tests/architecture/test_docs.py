"""What the documents show is what the code does: examples load, commands print what is shown, links lead somewhere."""

import ast
import doctest
import json
import re
import tomllib
from fractions import Fraction
from urllib.parse import unquote

import pytest
from typer.testing import CliRunner

import privity
from docs.site import schema_page
from privity.common import formats
from privity.common.consortium.manifest import read_manifest
from privity.common.data.schema import load_schema, parse_schema
from privity.common.data.table_map_file import load_table_map
from privity.common.notices.channels import channel_problems, channels_of
from privity.common.privacy.population import Population
from privity.common.runs.run_request import parse_request
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.synthesis.models.load_model import load_model
from privity.curator.server import load_config as load_curator
from privity.deploy.consortium.organiser import load_agreement
from privity.deploy.operator.operator_folder import client_of
from privity.deploy.operator.request_options import read_spec
from privity.interfaces.cli.main import app
from privity.party.config import load_config as load_party
from privity.party.policy import load_policy
from tests.architecture import line_links
from tests.harness import walkthrough
from tests.harness.command import shown_commands
from tests.harness.places import ROOT

DOCS = ROOT / "docs"
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FORMAT_OF_SECTION = {
    "policy.toml": "policy",
    "party.toml": "party",
    "map.json": "table_map",
    "curator.toml": "curator",
    "Notices": "notices",
    "operator.toml": "operator",
    "consortium.toml": "consortium",
    "Invites": "invite",
    "Answers to invites": "join",
    "manifest.json": "manifest",
    "Run request": "run_request",
    "Signed request": "signed_request",
    "privacy.json": "privacy",
    "run.json": "run",
    "attestations.json": "attestations",
    "marginals.json": "marginals",
    "analyses.json": "analyses",
    "scores.json": "scores",
    "model.json": "model",
    "evaluation.json": "evaluation",
    "Published limits": "published_limits",
    "Transcripts": "transcript",
    "Audit findings": "audit",
}


def fences(text, *languages):
    """The fenced blocks of these languages, in order."""
    return [content for language, content in FENCE.findall(text) if language in languages]


def sections(page):
    """Heading of the second level to its text."""
    parts = re.split(r"^## (.+)$", (DOCS / page).read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def first_column(text, pattern=r"`([^`]+)`"):
    """Names in code style in the first column of the tables of a text."""
    cells = [line.split("|")[1] for line in FENCE.sub("", text).splitlines() if line.startswith("|")]
    return [name for cell in cells for name in re.findall(pattern, cell)]


@pytest.fixture
def examples(tmp_path, monkeypatch):
    """A folder, made the current one, with every file that docs/schema.md shows under its name."""
    text = (DOCS / "schema.md").read_text(encoding="utf-8")
    for name, content in re.findall(r"`([\w.]+)`:\n\n```(?:json|csv)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        (tmp_path / name).write_text(content, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_example_of_a_schema_has_a_name(examples):
    shown = fences((DOCS / "schema.md").read_text(encoding="utf-8"), "json", "csv")
    assert sorted(shown) == sorted(path.read_text(encoding="utf-8") for path in examples.iterdir())
    schema = load_schema(examples / "visits.schema.json")
    assert parse_schema(json.loads(json.dumps(schema.table_schema())), "s") == schema


def test_shown_commands_print_what_is_shown(examples):
    blocks = fences((DOCS / "schema.md").read_text(encoding="utf-8"), "console")
    assert len(blocks) == 5
    for block in blocks:
        command, expected = block.split("\n", 1)
        program, *arguments = command.removeprefix("$ ").split()
        assert program == "privity"
        assert CliRunner().invoke(app, arguments).output == expected, command


def test_codes_of_the_example(examples):
    shown = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", sections("schema.md")["Example"], re.MULTILINE))
    for attribute in load_schema("visits.schema.json").attributes:
        codes = ", ".join(f"`{label}`" if label[0] == "[" else label.strip("()") for label in attribute.labels)
        assert shown.pop(attribute.name) == codes
    assert not shown


def test_every_key_of_a_schema_is_described():
    form, text = formats.load("table_schema"), sections("schema.md")
    assert set(first_column(text["Keys of the schema"])) == set(form["properties"])
    assert schema_page.PAGE.read_text(encoding="utf-8") == schema_page.page(), "python -m docs.site.schema_page"
    of_dialects = text["Keys of a field"].split("### Dialect")[1].split("\nLine ends")[0]
    assert set(first_column(of_dialects)) == set(formats.load("dialect")["properties"])


def rules_of(module):
    """Names of the rules that a module reports: ``fault(key, rule, ...)`` and ``Problem(file, field, rule, ...)``."""
    calls = [n for n in ast.walk(ast.parse((ROOT / module).read_text(encoding="utf-8"))) if isinstance(n, ast.Call)]
    found = set()
    for call in calls:
        place = {"fault": 1, "Problem": 2}.get(getattr(call.func, "attr", getattr(call.func, "id", "")))
        rule = call.args[place] if place and len(call.args) > place else None
        if isinstance(rule, ast.Constant):
            found.add(rule.value)
    return found


@pytest.mark.parametrize(
    ("module", "heading"),
    [
        ("common/data/schema_fields.py", "### Rules of a schema"),
        ("common/data/table_reading.py", "### Rules of a table"),
    ],
)
def test_every_rule_is_described(module, heading):
    text = sections("schema.md")["privity schema check"].split(heading)[1].split("\n###")[0]
    beside = {
        "schema_fields": (
            "schema",
            "discoveries",
            "field_form",
            "unread_columns",
            "constant_columns",
            "made_columns",
            "dialect",
        ),
        "table_reading": ("csv_reading",),
    }[module.split("/")[-1].removesuffix(".py")]
    rules = rules_of(module).union(*(rules_of(f"common/data/{name}.py") for name in beside))
    assert set(first_column(text, r"^ `([^`]+)` $")) == rules


def load_example(name, content, folder):
    """Load an example of docs/formats.md as production code loads such a file."""
    path = folder / name
    path.write_text(content, encoding="utf-8")
    match name:
        case "policy.toml":
            declared = lambda name: Population(name, Fraction(1))  # noqa: E731
            assert set(load_policy(path, declared).algorithms) <= set(ALGORITHMS)
        case "party.toml":
            assert load_party(path).state == folder / "state"
        case "map.json":
            assert load_table_map(path, load_schema("visits.schema.json")).name_of("weight") == "weight_lb"
        case "curator.toml":
            assert load_curator(path).schema == folder / "visits.schema.json"
        case "Notices":
            document = tomllib.loads(content)
            assert not channel_problems(document, name)
            assert [channel.to for channel in channels_of(document["notices"], folder)] == [
                "chat.example.org",
                "steward@hospital.example",
                "dpo@hospital.example",
            ]
        case "operator.toml":
            (key,) = fences(sections("formats.md")["manifest.json"], "text")
            (folder / "organiser.pub").write_text(key)
            assert client_of(path).address == "curator.example.org:7443"
        case "consortium.toml":
            assert load_agreement(path).all_hosts == ("curator.example.org", "10.0.0.5")
        case "manifest.json":
            (key,) = fences(sections("formats.md")[name], "text")
            (folder / "organiser.pub").write_text(key, encoding="ascii")
            manifest = read_manifest(path, folder / "organiser.pub")
            assert manifest.schema_digest == load_schema("visits.schema.json").digest
        case "Run request":
            try:
                document = json.loads(content)
            except ValueError:
                path = folder / "autumn.toml"
                path.write_text(content, encoding="utf-8")
                document = read_spec(path)
            request = parse_request(json.dumps(document).encode())
            ALGORITHMS[request.algorithm].check(request.settings, load_schema("visits.schema.json"))
        case "model.json":
            schema = load_schema("visits.schema.json")
            assert load_model(formats.read_json(path), schema, name).to_dict()["nodes"]
        case "marginals.json" | "analyses.json" | "scores.json" | "evaluation.json":
            document = formats.read_json(path)
            formats.require(document, FORMAT_OF_SECTION[name], name)
            digest = document.get("schema_digest", document.get("schema_digest"))
            assert digest == load_schema("visits.schema.json").digest
        case _:
            raise AssertionError(f"no loader for an example of {name}")


def test_every_example_of_a_file_loads(examples):
    loaded = []
    for name, text in sections("formats.md").items():
        for content in fences(text, "toml", "json"):
            load_example(name, content, examples)
            loaded.append(name)
    assert {"policy.toml", "party.toml", "curator.toml"} <= set(loaded)


def keys_of(form, prefix=""):
    """Every key of a format as a path: ``parties[].name``."""
    found = []
    for key, inner in form.get("properties", {}).items():
        found += [
            prefix + key,
            *keys_of(inner, f"{prefix}{key}."),
            *keys_of(inner.get("items", {}), f"{prefix}{key}[]."),
        ]
    return found


@pytest.mark.parametrize("section", FORMAT_OF_SECTION)
def test_every_key_of_a_file_is_described(section):
    text = sections("formats.md")[section]
    assert sorted(first_column(text, r"^ `([^`]+)` $")) == sorted(keys_of(formats.load(FORMAT_OF_SECTION[section])))


def test_every_format_is_described():
    described = {*FORMAT_OF_SECTION.values(), "table_schema", "history", "dialect"}
    assert described == {path.name.split(".")[0] for path in (ROOT / "common/formats").glob("*.schema.json")}


def test_every_dependency_is_described():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    listed = [
        *project["dependencies"],
        *(item for items in project["optional-dependencies"].values() for item in items),
    ]
    text = (DOCS / "dependencies.md").read_text(encoding="utf-8")
    headings = " ".join(re.findall(r"^### (.+)$", text, re.MULTILINE))
    for item in listed:
        name = re.split(r"[<>=\[ ]", item)[0]
        if name == project["name"]:
            continue
        described = name in re.split(r"[ ,:]+", headings) if item in project["dependencies"] else name in text
        assert described, name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_relative_links_lead_to_files(page):
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    targets = re.findall(r"\]\(([^)\s]+)\)", text)
    broken = [
        target
        for target in targets
        if not re.match(r"[a-z]+:|#", target) and not (page.parent / unquote(target.split("#")[0])).exists()
    ]
    assert not broken


@pytest.mark.parametrize("page", ["python.md", "moving_from_sdv.md"])
def test_the_examples_of_the_python_pages_run_as_written(tmp_path, monkeypatch, page):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    failed, tried = doctest.testfile(str(ROOT / "docs" / page), module_relative=False)
    assert (failed, tried > 12) == (0, True)


def test_the_readme_s_python_runs_as_written(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    (program,) = fences(README, "python")
    exec(compile(program, "README.md", "exec"), {})
    header, *rows = (tmp_path / "synthetic.csv").read_text(encoding="utf-8").splitlines()
    assert (header, len(rows)) == ("age,children,rate_marriage", 6366)


def test_the_readme_s_commands_are_those_of_the_walkthrough():
    shown = shown_commands(README)
    assert len(shown) > 9
    assert set(shown) <= set(walkthrough.commands())


def test_the_readme_s_figures_are_those_of_the_benchmark():
    measured = (DOCS / "benchmarks" / "accuracy.md").read_text(encoding="utf-8")
    (table,) = re.findall(
        r"begin adult: mean 2-way distance over parties, eps 1, \(eps, 1e-9\) -->(.*?)<!--", measured, re.DOTALL
    )
    for method in ("aim", "one-way"):
        (cells,) = re.findall(rf"^\| {method} \| (.*)$", table, re.MULTILINE)
        alone, _, three, *_ = (cell.split()[0] for cell in cells.split(" | "))
        assert re.search(rf"^\| `{method}`.* \| {alone} \| {three} \|$", README, re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_name_that_a_page_imports_from_privity_exists(page):
    text = page.read_text(encoding="utf-8")
    lines = re.findall(r"from privity import \(?\s*(\w+(?:,\s*\w+)*)", text)
    names = {name for line in lines for name in re.split(r",\s*", line)}
    assert names <= set(privity.__all__)
    assert page.name != "python.md" or len(names) > 4


@pytest.mark.parametrize("page", line_links.PAGES, ids=lambda page: page.name)
def test_links_to_code_name_the_line_where_it_is_defined(page):
    """``python -m tests.architecture.line_links`` sets them right."""
    text = page.read_text(encoding="utf-8")
    assert len(line_links.LINK.findall(text)) > 20
    assert line_links.with_lines(text) == text

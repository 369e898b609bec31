"""``Release``: rows, marginals, statement and samples of a folder, a ZIP file or a URL; and what is refused."""

from __future__ import annotations

import functools
import gc
import json
import os
import pickle
import re
import shutil
import stat
import threading
import zipfile
from collections.abc import Iterator
from fractions import Fraction
from html.parser import HTMLParser
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO
from urllib.request import Request

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import privity
from privity import Release, load_model, release_sources
from privity.common.data.coded_table import CodedTable, decode, write_csv
from privity.common.data.schema import parse_schema
from privity.common.data.written_values import as_texts
from privity.common.errors import Catalogue, PrivityError, ProblemsFound
from privity.common.privacy.budget import parse_epsilon, readable
from privity.common.privacy.exact_numbers import ExactNumber
from privity.common.release.release_contents import LARGEST_FILES, RUN
from privity.common.release.report.report_page import write_with_report
from privity.common.release.rows_file import read_decoded
from privity.release_sources import OwnFolder
from tests.harness.releases import release_of
from tests.harness.tables import FIELDS, people

EVIL = "<script>alert('1')</script>\u202e"
ROWS = 800


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("made")
    schema = parse_schema({"name": "people", "fields": FIELDS}, "schema")
    made = release_of(place, "mst", people(ROWS), schema, parties={"north": 500, "south": 300})
    write_with_report(place / "release", *made)
    return place / "release"


@pytest.fixture(scope="module")
def release(folder: Path) -> Release:
    return Release(folder)


def test_the_names_of_the_face_are_listed() -> None:
    assert {"Release", "Ledger", "simulate", "connect"} <= set(privity.__all__) <= set(dir(privity))


def test_rows_are_those_of_the_file_with_the_types_of_a_sample(release: Release, folder: Path) -> None:
    rows = release.rows
    assert len(rows) == ROWS
    pd.testing.assert_series_equal(rows.dtypes, release.sample(10).dtypes)
    pd.testing.assert_frame_equal(rows, pd.read_csv(folder / "synthetic.csv", dtype=dict(rows.dtypes)))
    rows["age"] = 0
    assert (release.rows["age"] > 0).all(), "the rows are the caller's to change"


def test_marginals_have_labels_and_error_bars(release: Release, folder: Path) -> None:
    documents = json.loads((folder / "marginals.json").read_text())["tables"]
    assert len(release.marginals) == len(documents)
    for marginal, document in zip(release.marginals, documents, strict=True):
        assert list(marginal.attributes) == document["attributes"]
        assert (marginal.phase, marginal.rows) == (document["phase"], document["rows"])
        assert marginal.half_width == document["half_width"]
        assert marginal.counts["count"].tolist() == document["counts"]
        assert marginal.counts["half_width"].unique().tolist() == [document["half_width"]]
        assert marginal.noise == f"{document['law']} noise of scale {readable(Fraction(document['scale']))}"
    (ward,) = release.marginals.over("ward")
    assert ward.counts.index.tolist() == ["north", "south", "west"]
    true = people(ROWS)["ward"].value_counts()
    assert all(abs(ward.counts["count"][name] - true[name]) <= 6 * ward.half_width for name in true.index)
    pair = next(m for m in release.marginals if len(m.attributes) == 2)
    (found,) = release.marginals.over(*reversed(pair.attributes))
    assert found.counts.equals(pair.counts)
    assert pair.counts.index.names == list(pair.attributes)
    assert [m.attributes for m in release.marginals[:2]] == [tuple(d["attributes"]) for d in documents[:2]]
    assert f"{ward.half_width}" in repr(ward)


def test_an_estimate_pools_all_marginals_and_knows_its_error(release: Release) -> None:
    single = release.marginals.estimate("ward")
    assert single is not None
    assert single.whole
    assert single.tables > 1
    assert single.counts.index.tolist() == ["north", "south", "west"]
    assert single.counts["count"].sum() == pytest.approx(ROWS)
    true = people(ROWS)["ward"].value_counts()
    assert all(
        abs(single.counts["count"][name] - true[name]) <= 6 * single.counts["half_width"][name] for name in true.index
    )
    (alone,) = release.marginals.over("ward")
    assert single.standard_error([1, 0, 0]) < alone.half_width
    assert single.standard_error([1, 1, 1]) == pytest.approx(0, abs=1e-6)
    assert single.standard_error([1, 0, 0]) == pytest.approx(single.covariance.iloc[0, 0] ** 0.5)
    pair = next(m for m in release.marginals if len(m.attributes) == 2).attributes[::-1]
    together = release.marginals.estimate(*pair)
    assert together is not None
    assert together.counts.index.names == list(pair)
    assert together.covariance.index.equals(together.counts.index)
    assert "estimated from" in repr(together)
    assert release.marginals.estimate(*release.schema.names) is None
    for wrong in (("ward", "ward"), ("nothing",), ()):
        with pytest.raises(privity.PrivityError, match="attributes"):
            release.marginals.estimate(*wrong)
    with pytest.raises(privity.PrivityError, match="weights"):
        single.standard_error([1, 2])


def test_the_statement_has_exact_figures_that_read_as_decimals(release: Release) -> None:
    statement = release.statement
    assert (statement.epsilon, statement.delta) == (2, 0)
    assert float(statement.epsilon) == 2.0
    assert {name: tuple(loss) for name, loss in statement.parties.items()} == {"north": (2, 0), "south": (2, 0)}
    assert statement.table["rows"].tolist() == [500, 300]
    assert any("e^2 times as likely" in sentence for sentence in statement.sentences)
    assert repr(statement).startswith("Privacy loss of a person: epsilon 2, delta 0.")
    third = ExactNumber(1, 3)
    assert (repr(third), f"{third}") == ("0.333333", "0.333333")
    assert parse_epsilon(pickle.loads(pickle.dumps(third)) * 3) == 1
    assert parse_epsilon(third, "epsilon") == Fraction(1, 3), "what is shown is rounded, what counts is not"


def test_a_sample_is_that_of_the_model(release: Release, folder: Path) -> None:
    model = load_model(folder / "model.json", folder / "schema.json")
    assert release.sample(50, seed=3).equals(model.sample(50, seed=3))
    assert set(release.sample(50, seed=3, where={"ward": "west", "age": 30})["ward"]) == {"west"}
    with pytest.raises(ProblemsFound, match="no column is called so"):
        release.sample(5, where={"wart": "west"})


@pytest.mark.parametrize(
    "given", [{"n": -1}, {"n": 1.5}, {"n": 10**12}, {"n": 5, "seed": "a"}, {"n": 5, "where": ["ward"]}]
)
def test_arguments_of_a_sample_that_cannot_be_are_named(release: Release, given: dict) -> None:
    with pytest.raises(PrivityError) as refused:
        release.sample(**given)
    assert refused.value.kind is Catalogue.BAD_OPTION


def test_pictures_are_those_of_the_report(release: Release, tmp_path: Path) -> None:
    two = release.plot("ward", "age")
    assert two.count('<svg class="histogram"') == 2
    assert two.count('<svg class="shades"') == 1
    every = release.plot()
    assert every.count("<article>") == len(release.schema.names)
    assert "<script" not in every
    assert release.plot("age")._repr_html_().startswith('<iframe srcdoc="&lt;!DOCTYPE html&gt;')
    release.report.save(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text() == release.report
    with pytest.raises(PrivityError, match="'wart' is none of the release"):
        release.plot("wart")


def test_an_owner_compares_it_with_the_real_rows_in_any_form(release: Release, tmp_path: Path) -> None:
    real = people(ROWS)
    real.to_csv(tmp_path / "real.csv", index=False)
    found = release.evaluate(real, targets=["smoker"], drop=["score"], quick=True)
    assert (
        found.document
        == release.evaluate(tmp_path / "real.csv", targets=["smoker"], drop=["score"], quick=True).document
    )
    assert found.document["predictions"][0]["target"] == "smoker"
    assert found.verdict
    assert "serves" in set(found.questions["verdict"])
    assert "Not for release" in repr(found)
    assert "<svg" in found.report or "data:image/svg" in found.report
    found.save(html=tmp_path / "page.html", json=tmp_path / "figures.json")
    assert json.loads((tmp_path / "figures.json").read_text()) == found.document
    with pytest.raises(PrivityError, match="nothing to write"):
        found.save()


def test_what_an_evaluation_cannot_read_is_said_in_words_of_python(release: Release) -> None:
    with pytest.raises(PrivityError, match="real: a int is no table"):
        release.evaluate(3)
    with pytest.raises(ProblemsFound, match=r"^real: header") as refused:
        release.evaluate(people(20).drop(columns="ward"))
    assert "--" not in str(refused.value)


def test_what_it_shows_is_the_headline(release: Release, folder: Path) -> None:
    for part in ("800", "mst", "north (500 rows)", "Privacy loss of a person: epsilon 2, delta 0."):
        assert part in repr(release)
    page = release._repr_html_()
    for part in ("800 synthetic rows", "mst", "How good is it?", "<strong>Epsilon 2 for a person.</strong>"):
        assert part in page
    assert "href" not in page
    assert " id=" not in page
    assert release.report == (folder / "report.html").read_text()
    assert release.run["algorithm"] == "mst"
    assert release.schema.names == ("age", "ward", "smoker", "score", "cost")
    assert release.scores is None
    assert any("as many as run.json says" in sentence for sentence in release.verify())


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add(tag)


def test_no_text_of_a_release_is_markup_or_acts(tmp_path: Path) -> None:
    field = {"name": EVIL, "type": "string", "categories": [EVIL, "b"]}
    schema = parse_schema({"name": EVIL, "fields": [field, {"name": "x", "type": "boolean"}]}, "schema")
    frame = pd.DataFrame({EVIL: [EVIL, "b"] * 50, "x": ["true", "false"] * 50})
    write_with_report(
        tmp_path / "release", *release_of(tmp_path, "one-way", frame, schema, parties={EVIL: 60, "b": 40})
    )
    release = Release(tmp_path / "release")
    for shown in (release, release.marginals, release.marginals[0], release.statement):
        page = shown._repr_html_()
        first_screen = {"style", "h1", "h2", "h3", "ul", "li", "bdi", "section", "span", "strong"}
        tables = {"div", "p", "table", "caption", "thead", "tbody", "tr", "th", "td"}
        assert Tags(page).found <= tables | first_screen
        assert "&lt;script&gt;" in page
        assert "\u202e" not in page + repr(shown)
    assert set(release.rows[EVIL]) == {EVIL, "b"}


def packed(file: Path, folder: Path, within: str = "") -> Path:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in folder.iterdir():
            archive.write(path, within + path.name)
    return file


@pytest.mark.parametrize("within", ["", "release/"])
def test_a_zip_file_is_a_release(tmp_path: Path, release: Release, folder: Path, within: str) -> None:
    found = Release(packed(tmp_path / "release.zip", folder, within))
    assert found.rows.equals(release.rows)
    assert str(tmp_path / "release.zip") in repr(found)
    place = found._folder
    assert place.is_dir()
    del found
    assert not place.exists(), "what was unpacked goes with the object"


@pytest.mark.parametrize(
    "name", ["../run.json", "/run.json", "a/../run.json", "a/b/run.json", "notes.txt", "..\\run.json", "x/notes.txt"]
)
def test_a_member_that_no_release_has_is_refused(tmp_path: Path, folder: Path, name: str) -> None:
    file = packed(tmp_path / "release.zip", folder)
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr(name, "{}")
    with pytest.raises(PrivityError, match=r"which no release has|several folders|twice") as refused:
        Release(file)
    assert refused.value.kind is Catalogue.TAMPERED
    assert sorted(path.name for path in tmp_path.iterdir()) == ["release.zip"]


def test_members_that_are_twice_links_or_in_several_folders_are_refused(tmp_path: Path, folder: Path) -> None:
    file = packed(tmp_path / "twice.zip", folder)
    with zipfile.ZipFile(file, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr(RUN, "{}")
    with pytest.raises(PrivityError, match=r"it has run\.json twice"):
        Release(file)
    with zipfile.ZipFile(tmp_path / "link.zip", "w") as archive:
        link = zipfile.ZipInfo(RUN)
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/hostname")
    with pytest.raises(PrivityError, match="is a link"):
        Release(tmp_path / "link.zip")
    with zipfile.ZipFile(tmp_path / "apart.zip", "w") as archive:
        archive.writestr(f"a/{RUN}", "{}")
        archive.writestr("b/model.json", "{}")
    with pytest.raises(PrivityError, match="several folders"):
        Release(tmp_path / "apart.zip")
    with zipfile.ZipFile(tmp_path / "lzma.zip", "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr(RUN, "{}")
    with pytest.raises(PrivityError, match="compressed by something else"):
        Release(tmp_path / "lzma.zip")


def test_more_than_a_release_can_have_is_refused(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = packed(tmp_path / "release.zip", folder)
    monkeypatch.setitem(LARGEST_FILES, "model.json", 10)
    with pytest.raises(PrivityError, match="larger than that of any release"):
        Release(file)


@pytest.mark.parametrize(
    ("name", "size", "said"),
    [
        ("synthetic.csv", 1 << 24, r"synthetic\.csv is larger than its run\.json allows"),
        ("scores.json", 1 << 20, r"it has scores\.json, which its run\.json does not name"),
        ("run.json", 0, r"it has no run\.json"),
    ],
)
def test_nothing_is_unpacked_that_does_not_follow_from_run_json(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, size: int, said: str
) -> None:
    """A small file may unpack to a large one: it is refused before a byte of it is written."""
    shutil.copytree(folder, tmp_path / "release")
    (tmp_path / "release" / name).unlink(missing_ok=True)
    if size:
        (tmp_path / "release" / name).write_bytes(bytes(size))
    file = packed(tmp_path / "release.zip", tmp_path / "release")
    written: list[str] = []
    write = release_sources._write

    def noted(content: IO[bytes], place: Path, most: int, source: str) -> None:
        written.append(place.name)
        write(content, place, most, source)

    monkeypatch.setattr(release_sources, "_write", noted)
    with pytest.raises(PrivityError, match=said) as refused:
        Release(file)
    assert refused.value.kind is Catalogue.TAMPERED
    assert name not in written


def test_a_zip_file_that_is_damaged_is_named(tmp_path: Path, folder: Path) -> None:
    file = packed(tmp_path / "release.zip", folder)
    data = bytearray(file.read_bytes())
    with zipfile.ZipFile(file) as archive:
        largest = max(archive.infolist(), key=lambda member: member.compress_size)
    # Within what a member holds: not every byte of its header means something.
    data[largest.header_offset + 30 + len(largest.filename) + largest.compress_size // 2] ^= 1
    file.write_bytes(data)
    with pytest.raises(PrivityError, match=re.escape(str(file))):
        Release(file)
    file.write_text("a,b\n1,2\n")
    with pytest.raises(PrivityError, match="neither the folder of a release nor a ZIP file"):
        Release(file)


def test_altered_files_are_all_named_before_anything_is_shown(tmp_path: Path, folder: Path) -> None:
    shutil.copytree(folder, tmp_path / "release")
    (tmp_path / "release" / "synthetic.csv").write_text("age\n1\n")
    (tmp_path / "release" / "model.json").unlink()
    file = packed(tmp_path / "release.zip", tmp_path / "release")
    for source in (tmp_path / "release", file):
        with pytest.raises(ProblemsFound) as refused:
            Release(source)
        assert [(problem.rule, Path(problem.file).name) for problem in refused.value.problems] == [
            ("missing", "model.json"),
            ("altered", "synthetic.csv"),
        ]
        assert all(problem.file.startswith(str(source)) for problem in refused.value.problems)


def test_a_file_that_is_altered_later_is_not_shown(tmp_path: Path, folder: Path) -> None:
    shutil.copytree(folder, tmp_path / "release")
    release = Release(tmp_path / "release")
    (tmp_path / "release" / "report.html").write_text("<p>all is well</p>")
    for shown in (lambda: release.report, lambda: release.rows, release.verify):
        with pytest.raises(ProblemsFound, match="altered"):
            shown()


def test_it_pickles_with_its_files_and_is_checked_again(tmp_path: Path, folder: Path) -> None:
    shutil.copytree(folder, tmp_path / "release")
    release = Release(tmp_path / "release")
    kept = pickle.dumps(release)
    state = release.__getstate__()
    shutil.rmtree(tmp_path / "release")
    again = pickle.loads(kept)
    assert again.sample(5, seed=1).equals(release.sample(5, seed=1))
    assert len(again.rows) == ROWS
    state["files"]["model.json"] += b" "
    with pytest.raises(ProblemsFound, match="altered"):
        Release.__new__(Release).__setstate__(state)


def test_a_folder_of_its_own_goes_with_the_object(folder: Path) -> None:
    own = OwnFolder()
    shutil.copytree(folder, own.release)
    release, place = Release._of(own.release, own), own.path
    del own
    assert "goes with this object" in repr(release)
    assert len(release.rows) == ROWS
    del release
    gc.collect()
    assert not place.exists()


def test_it_can_be_saved_and_nothing_is_overwritten(tmp_path: Path, release: Release) -> None:
    release.save(tmp_path / "kept")
    assert Release(tmp_path / "kept").rows.equals(release.rows)
    with pytest.raises(PrivityError, match=r"path: .* exists already"):
        release.save(tmp_path / "kept")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (3, "source: int is neither a path nor a URL"),
        ("nowhere", "nowhere: no such file"),
        ("http://example.org/release", "not the address of a release"),
        ("s3://bucket/release", "not the address of a release"),
        ("file:///etc", "not the address of a release"),
        ("https://", "not the address of a release"),
        ("https://me:secret@example.org/release", "has a user or password in it"),
        ("https://[", "not the address of a release"),
    ],
)
def test_what_is_no_release_is_named(source: object, said: str) -> None:
    with pytest.raises(PrivityError, match=re.escape(said)) as refused:
        Release(source)  # type: ignore[arg-type]
    assert refused.value.remedy


class Silent(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nothing."""


class Elsewhere(BaseHTTPRequestHandler):
    """Sends everybody to another place."""

    def do_GET(self) -> None:
        self.send_response(302)
        self.send_header("Location", "http://example.org/run.json" if "/away" in self.path else "file:///etc/hostname")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def web(folder: Path) -> Iterator[str]:
    yield from served(functools.partial(Silent, directory=str(folder.parent)))


def served(handler: type[BaseHTTPRequestHandler] | functools.partial[Silent]) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


@pytest.mark.process
@pytest.mark.parametrize("path", ["release", "release/", "release/?key=1", "release.zip", "release.zip?key=1"])
def test_a_release_is_read_from_the_web(web: str, folder: Path, release: Release, path: str) -> None:
    if ".zip" in path and not (file := folder.parent / "release.zip").exists():
        packed(file, folder, "release/")
    found = Release(f"{web}/{path}")
    assert found.rows.equals(release.rows)
    assert found.source == f"{web}/{path.partition('?')[0]}"
    assert "key=1" not in repr(found), "a query may hold a key"


@pytest.mark.process
def test_what_is_not_on_the_web_or_altered_there_is_named(
    web: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(PrivityError, match="answers 404") as refused:
        Release(f"{web}/none?key=secret")
    assert "secret" not in str(refused.value)
    with pytest.raises(PrivityError) as refused:
        Release("http://me:secret@example.org/release?key=secret")
    assert "secret" not in str(refused.value)
    shutil.copytree(folder, folder.parent / "altered", dirs_exist_ok=True)
    (folder.parent / "altered" / "model.json").write_text("{}")
    with pytest.raises(ProblemsFound, match=re.escape(f"{web}/altered/model.json: [altered]")):
        Release(f"{web}/altered")
    run = json.loads((folder / RUN).read_text())
    run["files"]["../../escape.txt"] = "0" * 64
    (folder.parent / "altered" / RUN).write_text(json.dumps(run))
    with pytest.raises(PrivityError, match=r"names a file '\.\./\.\./escape\.txt', which no release has"):
        Release(f"{web}/altered")
    monkeypatch.setitem(LARGEST_FILES, "model.json", 100)
    with pytest.raises(PrivityError, match=r"more of model\.json than any release has"):
        Release(f"{web}/release")


@pytest.mark.process
def test_a_redirection_leads_nowhere_else() -> None:
    for url in served(Elsewhere):
        for path in ("away", "file"):
            with pytest.raises(PrivityError, match=r"not the address of a release|not allowed"):
                Release(f"{url}/{path}")


def test_no_redirection_leads_from_elsewhere_to_this_machine() -> None:
    check = release_sources._SafeRedirects().redirect_request
    with pytest.raises(OSError, match="redirects to this machine"):
        check(Request("https://example.org/r"), None, 302, "", {}, "http://127.0.0.1/r")
    assert check(Request("http://localhost/r"), None, 302, "", {}, "http://127.0.0.1/r").host == "127.0.0.1"


@pytest.mark.process
def test_a_forked_process_leaves_the_files_of_its_parent(folder: Path, tmp_path: Path) -> None:
    own = OwnFolder()
    child = os.fork()
    if child == 0:
        own.close()
        os._exit(0)
    os.waitpid(child, 0)
    assert own.path.is_dir()
    own.close()
    assert not own.path.exists()


MISSING = [{}, {"missingValues": ["NA", ""]}]
KINDS = [
    {"type": "integer", "edges": [0, 10, 20]},
    {"type": "number", "edges": [0, 0.5, 1000000]},
    {"type": "integer", "categories": [1, 10**30]},
    {"type": "integer", "categories": [-1, 2]},
    {"type": "number", "categories": [0.1, 2, 1e22]},
    {"type": "boolean"},
    {"type": "string", "categories": ["01", "1", 'a,"b"', " x", "ä"]},
    {"type": "number", "decimals": 2, "edges": [0, 10**14, 10**16]},
    {"type": "date", "format": "%d.%m.%Y", "edges": ["2020-01-01", "2020-02-01", "2020-03-01"]},
    {"type": "datetime", "timezone": "+01:00", "categories": ["2020-01-01T00:00:00Z", "2020-02-01T00:00:00Z"]},
    {"type": "duration", "decimals": 1, "edges": ["PT0S", "PT1H", "P9D"]},
]


@given(st.lists(st.tuples(st.sampled_from(KINDS), st.sampled_from(MISSING)), min_size=1, max_size=4), st.integers(0, 9))
def test_decoded_rows_are_read_as_they_were_written(kinds: list, seed: int) -> None:
    fields = [{"name": f"a{place}", **kind, **missing} for place, (kind, missing) in enumerate(kinds)]
    schema = parse_schema({"fields": fields}, "schema")
    draw = np.random.default_rng(seed)
    frame = decode(CodedTable(schema, tuple(draw.integers(0, size, 30) for size in schema.domain)), draw)
    own = OwnFolder()
    write_csv(as_texts(frame, schema), own.path / "rows.csv", quote_all=True)
    pd.testing.assert_frame_equal(read_decoded(own.path / "rows.csv", schema), frame)
    own.close()


def test_a_question_is_answered_as_the_command_does(release):
    found = release.query("share", where={"smoker": True}, target="rows")
    assert found.low < found.value < found.high
    assert found.support.kind == "measured"
    assert list(found.table) == ["value", "low", "high", "sampling", "noise", "model"]
    assert "share: part of the rows that meet the conditions of where" in repr(found)
    groups = release.query("share", where={"smoker": True}, by="smoker", target="rows")
    assert [each.of["smoker"] for each in groups] == ["false", "true"]
    with pytest.raises(PrivityError, match="there are 2 of them"):
        _ = groups.value
    squared = release.query(lambda table: float(table[1] ** 2), "smoker", target="rows")
    assert squared.value == pytest.approx(found.value**2, abs=1e-6)
    with pytest.raises(PrivityError, match="has no values by name"):
        release.query("count", where=["smoker"])


def test_frames_of_rows_say_what_their_standard_errors_leave_out(release):
    for frame in (release.rows, release.sample(3, seed=1)):
        assert "Release.query has valid intervals" in frame.attrs["privity"]


def test_support_is_said_before_one_asks(release):
    assert release.support("smoker").kind == "measured"
    with pytest.raises(PrivityError, match="there are none"):
        release.support()


def test_rows_that_are_independent_vary_as_a_sample_does(release):
    def counts(independent):
        samples = (release.sample(200, seed=seed, independent=independent) for seed in range(60))
        return np.array([int((rows["smoker"]).sum()) for rows in samples])

    share = counts(True).mean() / 200
    expected = 200 * share * (1 - share)
    assert 0.5 * expected < counts(True).var() < 2 * expected
    assert counts(False).var() < 0.2 * expected

"""No side doors: nothing that depends on rows leaves a party but charged releases and sealed shares.

Three views. By text: every error that a party can raise is listed here with what it may carry; every log call, in
test_log_calls.py. By message: every field of the wire has its class. By effect: two runs over tables that share
nothing but their size and schema leave the same traces, except where a charged release is expected.
"""

from __future__ import annotations

import ast
import asyncio
import json
import logging
import re
from fractions import Fraction
from pathlib import Path

from privity.common.data.coded_table import CodedTable
from privity.common.data.noisy_tables import AttributeParentPair
from privity.common.errors import Catalogue
from privity.common.node.logs import content_of
from privity.common.privacy.mechanisms import NoisyMax
from privity.common.protocol.steps import Contribute, Enrol, Select
from privity.common.wire.v1 import privity_pb2 as pb
from tests.harness.consortium import TestConsortium, make_schema, make_table
from tests.harness.places import NODES, ROOT, sources
from tests.harness.steps import laplace_round, pure

SOURCES = sources(*NODES)

# Every field of every message. "public": declared or agreed, or follows from what is; "release": an outcome
# of a charged mechanism; "sealed": unreadable for the curator; "masked sum": a block of a round, over all parties.
CLASSES = {
    "Chunk.data": "carries another message",
    "Chunk.process": "public",
    "NextStepRequest.wait_seconds": "public",
    "NextStepRequest.process": "public",
    "AliveRequest.process": "public",
    "AliveReply.*": "public",
    "ManifestReply.document": "public",
    "Step.*": "public",
    "Enrol.*": "public",
    "Begin.plan": "public",
    "Round.*": "public",
    "Tables.*": "public",
    "LaplaceNoise.*": "public",
    "GaussianNoise.*": "public",
    "AdvancedLaplaceNoise.*": "public",
    "Selecting.*": "public",
    "Attributes.index": "public",
    "Contribute.*": "public",
    "Attempt.*": "public",
    "SealBlock.*": "public",
    "Revealed.*": "public",
    "CombineBlock.attempt": "public",
    "CombineBlock.block": "public",
    "CombineBlock.node": "public",
    "CombineBlock.blobs": "sealed",
    "CombineBlock.base": "masked sum",
    "Replacement.*": "public",
    "Blob.sender": "public",
    "Blob.ciphertext": "sealed",
    "Blob.signature": "sealed",
    "CandidateGroup.*": "public",
    "Select.*": "public",
    "SelectTable.*": "public",
    "ExpectedTables.*": "public",
    "Learn.*": "public",
    "Learned.model": "release",
    "Recode.*": "public",
    "Edges.attribute": "public",
    "Edges.edges": "release",
    "Attest.*": "release",
    "Attested.attestation": "public",
    "Close.*": "public",
    "Stopped.since": "public",
    "Reply.*": "public",
    "Enrolled.enrolment": "public",
    "Sum.payload": "masked sum",
    "Selected.index": "release",
    "Refusal.*": "public",
    "SubmitRequest.*": "public",
    "SubmitReply.run": "public",
    "RunName.run": "public",
    "RunEvent.*": "public",
    "Pending.*": "public",
    "StopRequest.*": "public",
    "RunList.runs": "public",
    "RunList.left_out": "public",
    "RunStatus.*": "public",
    "Awaited.*": "public",
    "Refused.*": "public",
    "PublishRequest.document": "public",
    "Statement.*": "public",
    "LimitsReply.documents": "public",
    "AliveRequest.version": "public",
    "PartiesReply.parties": "carries another message",
    "PartyStatus.*": "public",
    "FileChunk.*": "release",
}


def calls(tree: ast.AST) -> list[ast.Call]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


def test_an_open_domain_is_closed_by_what_states_its_cost_alone():
    """``Schema.discovered`` takes the cost; a stand-in of a plan has domains that come from no row."""
    files = sources()
    closing = {
        (path.relative_to(ROOT).as_posix(), function.name)
        for path in files
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for call in ast.walk(function)
        if isinstance(call, ast.keyword) and call.arg == "discover" and ast.unparse(call.value) == "False"
    }
    learning = "common/synthesis/learning"
    assert closing == {
        (f"{learning}/category_discovery.py", "with_categories"),
        *((f"{learning}/domain_discovery.py", name) for name in ("_binned", "stand_in", "closed")),
    }
    for path in files:
        text = path.read_text(encoding="utf-8")
        for found in re.finditer(r"(?<!def )\bwith_(?:categories|domains)\(", text):
            assert text[: found.start()].rstrip().endswith(".discovered("), "nothing but this takes what was found"


def test_parties_and_the_engine_do_not_print() -> None:
    for path in SOURCES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {c.func.id for c in calls(tree) if isinstance(c.func, ast.Name)}
        assert "print" not in names, path
        modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        # Tables are shown by commands alone, too.
        assert "privity.common.text.terminal" not in modules or path == ROOT / "common" / "text" / "text_table.py", path


def test_errors_of_the_catalogue_have_fixed_codes_and_known_fields() -> None:
    allowed = {
        "address", "asked", "attributes", "awaited", "cells", "days", "expected", "file", "first", "found", "hint",
        "identity", "known", "left", "limit", "missing", "option", "party", "phase", "population", "problems", "reason",
        "round", "run", "seconds", "sender", "source", "state", "step", "submitter", "total", "what",
    }  # fmt: skip
    codes = [kind.value.code for kind in Catalogue]
    assert len(set(codes)) == len(codes)
    for kind in Catalogue:
        fields = set(re.findall(r"\{(\w+)", kind.value.text + kind.value.remedy))
        assert fields <= allowed, kind


def test_rows_are_read_for_charged_releases_alone() -> None:
    """The audit aside, which samples the same functions in neighbouring worlds."""
    reader = re.compile(r"^(from privity\.party import|import privity\.party\.).*answers_from_rows|"
                        r"^from privity\.party\.answers_from_rows import", re.MULTILINE)  # fmt: skip
    shipped = sources()
    found = {path.relative_to(ROOT).as_posix() for path in shipped if reader.search(path.read_text(encoding="utf-8"))}
    audit = {"assessment/audit/mechanisms.py", "assessment/audit/algorithm_runs.py"}
    assert found == {"party/charged_releases.py"} | audit


def test_code_that_touches_rows_raises_nothing_of_its_own() -> None:
    """An error there could only be about rows: there is none to leak."""
    tree = ast.parse((ROOT / "party" / "answers_from_rows.py").read_text(encoding="utf-8"))
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Raise)]


def test_noise_is_drawn_before_rows_are_touched() -> None:
    """In the one file that has both, each answer takes its noise in the line before it calls a handler."""
    tree = ast.parse((ROOT / "party" / "charged_releases.py").read_text(encoding="utf-8"))
    answers = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == "answer"]
    assert len(answers) == 3
    for answer in answers:
        source = ast.unparse(answer)
        drawn = re.search(r"self\._new_share\(|mechanism\.sample\(", source)
        counted = re.search(r"answers_from_rows\.\w+\(", source)
        assert drawn
        assert counted
        assert drawn.start() < counted.start()


def test_every_field_of_every_message_has_a_class() -> None:
    for message, descriptor in pb.DESCRIPTOR.message_types_by_name.items():
        for field in descriptor.fields:
            assert f"{message}.{field.name}" in CLASSES or f"{message}.*" in CLASSES, f"{message}.{field.name} is new"


def test_row_problems_never_reach_the_wire() -> None:
    """The one error that shows values is raised while a table is read, before a node serves."""
    for path in (*(ROOT / "party").glob("*.py"), *(ROOT / "curator").glob("*.py")):
        assert "RowProblemsFound" not in path.read_text(encoding="utf-8")
    for name in ("step_answers.py", "charged_releases.py", "answers_from_rows.py", "agent.py", "local_backend.py"):
        text = (ROOT / "party" / name).read_text(encoding="utf-8")
        assert "encode(" not in text.replace(".encode(", "")
        assert "read_table" not in text


class Traces(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[dict[str, str | int]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(content_of(record) | {"time": ""})


def traces_of(tables: dict[str, CodedTable], folder: Path) -> dict[str, object]:
    """Everything a run leaves behind but the charged releases themselves."""
    handler = Traces()
    logger = logging.getLogger("privity")
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        consortium = TestConsortium(tables)
        consortium.drive(folder / "release", run="run-1", algorithm="one-way", epsilon=Fraction(1))
        plan = consortium.begin(consortium.spec(run="run-2", epsilon=Fraction(2)))
        refused = []
        for step in (
            Contribute(laplace_round("run-2", "p", "r", ((0, 99),), Fraction(1))),
            Contribute(laplace_round("run-2", "p", "r", ((0, 1),), Fraction(5))),
            Select("run-2", "p", "d", (AttributeParentPair(0, ()),), NoisyMax(Fraction(1))),
            Enrol(consortium.spec(run="run-3", algorithm="magic")),
        ):
            refused += [repr(consortium.tell(name, step)) for name in tables]
        pair = (AttributeParentPair(0, (1,)), AttributeParentPair(1, (2,)))
        consortium.tell("party-1", Select("run-2", "p", "e", pair, NoisyMax(Fraction(1))))
        asyncio.run(consortium.session(plan).measure("p", [(0, 1)], pure(Fraction(1))))
    finally:
        logger.removeHandler(handler)
    run = json.loads((folder / "release" / "run.json").read_text())
    privacy = (folder / "release" / "privacy.json").read_text()
    for key in ("files", "plan_digest"):
        del run[key]
    sizes = [(name, len(message)) for name, message in consortium.recorder.received]
    return {"logs": handler.lines, "refusals": refused, "run": run, "privacy": privacy, "sizes": sizes}


def test_tables_that_share_only_size_and_schema_leave_the_same_traces(tmp_path: Path) -> None:
    schema = make_schema((3, 4, 2))
    worlds = []
    for world in (0, 1):
        folder = tmp_path / str(world)
        folder.mkdir()
        if world:
            tables = {f"party-{k}": make_table(schema, 50, seed=k) for k in (1, 2)}
        else:
            constant = make_table(schema, 50, seed=1).take([0] * 50)
            tables = {"party-1": constant, "party-2": constant}
        worlds.append(traces_of(tables, folder))
    first, second = worlds
    assert first["refusals"], "the refusals are part of what is compared"
    for what in ("logs", "refusals", "run", "privacy"):
        assert first[what] == second[what], what
    # A ciphertext in a product may be a byte shorter by chance; nothing else may differ in size.
    for (name, size), (other, other_size) in zip(first["sizes"], second["sizes"], strict=True):
        assert name == other
        assert abs(size - other_size) <= 2

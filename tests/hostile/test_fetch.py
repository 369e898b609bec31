"""A curator that sends an operator's commands what no honest one does: it is named, and nothing of it stays."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.consortium.manifest import sign_manifest
from privity.common.errors import Catalogue, PrivityError, ProblemsFound
from privity.common.exit_codes import Exit
from privity.common.formats import read_json
from privity.common.release.attestations import attestations_text
from privity.common.release.release_contents import (
    ATTESTATIONS,
    LARGEST_FILES,
    MARGINALS,
    MODEL,
    PRIVACY,
    RELEASE_FILES,
    RUN,
    SCHEMA,
)
from privity.common.release.release_folder import read_release
from privity.common.release.statement import headline
from privity.common.runs.signed_request import SignedRequest
from privity.common.storage.canonical_json import b64
from privity.common.wire.v1 import privity_pb2 as pb
from privity.common.wire.v1 import privity_pb2_grpc as rpc
from privity.deploy.operator.operator_folder import client_of
from tests.harness.command import privity
from tests.harness.consortium import TestConsortium, make_consortium
from tests.harness.signed_releases import signed_release
from tests.harness.tls import HOST, OPERATOR

Part = tuple[str, bytes]


@dataclass
class LyingCurator(rpc.OperatorServicer):
    """Answers every fetch with these parts, whatever they are."""

    operator: Path = Path()
    parts: list[Part] = field(default_factory=list)
    status: pb.RunStatus = field(default_factory=pb.RunStatus)
    event: pb.RunEvent = field(default_factory=pb.RunEvent)

    def Fetch(self, request: pb.RunName, context: grpc.ServicerContext) -> Iterator[pb.FileChunk]:  # noqa: N802
        return (pb.FileChunk(name=name, data=data) for name, data in self.parts)

    def Submit(self, request: pb.SubmitRequest, context: grpc.ServicerContext) -> pb.SubmitReply:  # noqa: N802
        return pb.SubmitReply(run=self.status.run)

    def GetParties(  # noqa: N802
        self, request: pb.PartiesRequest, context: grpc.ServicerContext
    ) -> pb.PartiesReply:
        return pb.PartiesReply()

    def List(self, request: pb.ListRequest, context: grpc.ServicerContext) -> pb.RunList:  # noqa: N802
        return pb.RunList(runs=[self.status])

    def Why(self, request: pb.RunName, context: grpc.ServicerContext) -> pb.RunStatus:  # noqa: N802
        return self.status

    def Watch(self, request: pb.RunName, context: grpc.ServicerContext) -> Iterator[pb.RunEvent]:  # noqa: N802
        return iter([self.event])


@pytest.fixture(scope="module")
def members() -> TestConsortium:
    return make_consortium(3, domain=(2, 3), rows=20, simulation=False)


@pytest.fixture(scope="module")
def curator(members: TestConsortium, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LyingCurator]:
    folder = tmp_path_factory.mktemp("operator")
    tls = members.tls
    tls.files(folder, "operator", OPERATOR)
    (folder / "organiser.pub").write_text(b64(tls.organiser.public().signing))
    (folder / "manifest.json").write_text(json.dumps(sign_manifest(members.manifest, tls.organiser)))
    certificate, key = tls.pairs["curator/curator"]
    server = grpc.server(ThreadPoolExecutor(2))
    lying = LyingCurator(folder / "operator.toml")
    rpc.add_OperatorServicer_to_server(lying, server)
    port = server.add_secure_port(f"{HOST}:0", grpc.ssl_server_credentials([(key, certificate)]))
    lying.operator.write_text(
        f'format_version = 1\ncurator = "{HOST}:{port}"\ncertificate = "operator-{OPERATOR}.pem"\n'
        f'key = "operator-{OPERATOR}.key"\nmanifest = "manifest.json"\norganiser_key = "organiser.pub"\n'
    )
    server.start()
    yield lying
    server.stop(0).wait()


def fetched(curator: LyingCurator, folder: Path, *parts: Part) -> PrivityError:
    """What a fetch of these parts says; nothing may be left of it."""
    curator.parts = list(parts)
    with pytest.raises(PrivityError) as found:
        client_of(curator.operator).fetch("autumn", folder / "release")
    assert list(folder.iterdir()) == []
    return found.value


NAMES = [".", "..", "../../evil", "/evil", "a/..", ".bashrc", "x\x1b[2J", "x\0y", "a" * 300, "Run.json", "run.json "]


@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_no_release_has_is_refused_by_its_name(curator: LyingCurator, tmp_path: Path, name: str) -> None:
    error = fetched(curator, tmp_path, (RUN, b"{}"), (name, b"evil"))
    assert error.kind is Catalogue.TAMPERED
    assert f"the curator sent a file {name[:80]!a}, which no release has" in error.message


def test_a_file_is_taken_once(curator: LyingCurator, tmp_path: Path) -> None:
    assert "the curator sent run.json twice" in fetched(curator, tmp_path, (RUN, b"{}"), (RUN, b"{}")).message


@pytest.mark.parametrize("parts", [[("", b"evil")], [("", b"")], [(RUN, b"{"), ("", b"}"), ("", b"")]])
def test_content_of_no_file_is_refused(curator: LyingCurator, tmp_path: Path, parts: list[Part]) -> None:
    assert "a part of no file, or an empty one" in fetched(curator, tmp_path, *parts).message


@pytest.mark.parametrize("name", LARGEST_FILES)
def test_no_file_is_larger_than_a_release_can_have_it(
    curator: LyingCurator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(
        "privity.deploy.operator.curator_link.LARGEST_FILES", dict.fromkeys(LARGEST_FILES, 9) | {name: 8}
    )
    other = next(known for known in LARGEST_FILES if known != name)
    error = fetched(curator, tmp_path, (other, b"9 bytes.."), (name, b"1234"), ("", b"5678"), ("", b"9"))
    assert f"the curator sent more of {name} than any release has" in error.message


def test_every_file_that_a_release_has_is_bounded() -> None:
    assert set(RELEASE_FILES) < set(LARGEST_FILES)
    assert sum(LARGEST_FILES.values()) < 1 << 35


@given(
    parts=st.lists(
        st.tuples(st.sampled_from(["", *LARGEST_FILES]) | st.text(max_size=9), st.binary(max_size=9)), max_size=12
    )
)
def test_whatever_comes_ends_by_a_named_error_and_leaves_nothing(
    curator: LyingCurator, tmp_path_factory: pytest.TempPathFactory, parts: list[Part]
) -> None:
    error = fetched(curator, tmp_path_factory.mktemp("out"), *parts)
    assert error.kind in (Catalogue.TAMPERED, Catalogue.FILE_MISSING, Catalogue.FILE_UNREADABLE, Catalogue.BAD_INPUT)


@pytest.fixture(scope="module")
def autumn(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of an honest release."""
    source = tmp_path_factory.mktemp("made") / "source"
    make_consortium(2).drive(source, "autumn", algorithm="one-way")
    return {path.name: path.read_bytes() for path in source.iterdir()}


@pytest.fixture(scope="module")
def signed(members: TestConsortium, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Those of one that all signed, by the organiser whom the operator knows."""
    made = signed_release(tmp_path_factory.mktemp("signed"), run="autumn", consortium=members)
    return {path.name: path.read_bytes() for path in made.folder.iterdir()}


def zeroed(document: dict[str, Any]) -> None:
    for each in (document["curator"], *document["parties"]):
        each["signature"] = b64(bytes(64))


@pytest.mark.parametrize(
    ("change", "rules"),
    [(zeroed, ["signature"] * 4), (lambda document: document.pop("curator"), ["not-signed"])],
)
def test_nothing_is_kept_whose_signatures_do_not_hold(
    curator: LyingCurator,
    tmp_path: Path,
    signed: dict[str, bytes],
    change: Callable[[dict[str, Any]], None],
    rules: list[str],
) -> None:
    document = json.loads(signed[ATTESTATIONS])
    change(document)
    error = fetched(curator, tmp_path, *{**signed, ATTESTATIONS: attestations_text(document).encode()}.items())
    assert isinstance(error, ProblemsFound)
    assert [problem.rule for problem in error.problems] == rules
    error = fetched(curator, tmp_path, *((name, data) for name, data in signed.items() if name != ATTESTATIONS))
    assert isinstance(error, ProblemsFound)
    assert [problem.rule for problem in error.problems] == ["not-signed"]


def test_a_member_is_given_no_other_release_than_it_signed(
    curator: LyingCurator, tmp_path: Path, signed: dict[str, bytes]
) -> None:
    curator.parts = list(signed.items())
    own = hashlib.sha256(signed[RUN]).hexdigest()
    with pytest.raises(PrivityError, match=f"{own}, and this member signed {'0' * 64}"):
        client_of(curator.operator).fetch("autumn", tmp_path / "release", attested="0" * 64)
    client_of(curator.operator).fetch("autumn", tmp_path / "release", attested=own)


def with_digests(files: dict[str, bytes], run: dict[str, Any] | None = None) -> list[Part]:
    """These files, and a run.json that names each as it is."""
    run = run or json.loads(files[RUN])
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in files.items() if name != RUN}
    return list({**files, RUN: json.dumps({**run, "files": digests}).encode()}.items())


def test_a_file_that_run_json_does_not_name_is_refused(
    curator: LyingCurator, tmp_path: Path, autumn: dict[str, bytes]
) -> None:
    """All others are there, of the digests that it names."""
    error = fetched(curator, tmp_path, *autumn.items(), ("scores.json", b"{}"))
    assert isinstance(error, ProblemsFound)
    assert [(Path(problem.file).name, problem.rule) for problem in error.problems] == [("scores.json", "not-named")]


def test_a_release_is_on_disk_file_by_file_before_it_has_its_name(
    curator: LyingCurator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, signed: dict[str, bytes]
) -> None:
    synced: list[Path] = []

    def sync(path: Path) -> None:
        # The folder above is synced last, when the release has its name.
        assert (path == tmp_path) == (tmp_path / "release").exists()
        synced.append(path)

    monkeypatch.setattr("privity.common.storage.safe_files.sync", sync)
    curator.parts = list(signed.items())
    said = client_of(curator.operator).fetch("autumn", tmp_path / "release")
    assert said == "Signed by the curator and 3 of 3 parties: their signatures hold."
    assert {(path.name, path.read_bytes()) for path in (tmp_path / "release").iterdir()} == set(signed.items())
    *files, folder, above = synced
    assert {path.name for path in files} == set(signed)
    assert folder == files[0].parent
    assert above == tmp_path


def test_the_release_of_another_run_is_refused(curator: LyingCurator, tmp_path: Path, autumn: dict[str, bytes]) -> None:
    both = dict(autumn)
    for name in (RUN, PRIVACY):
        both[name] = autumn[name].replace(b'"autumn"', b'"spring"')
    error = fetched(curator, tmp_path, *with_digests(both))
    assert error.kind is Catalogue.TAMPERED
    assert "the curator sent the release of another run, 'spring'" in error.message
    error = fetched(curator, tmp_path, *with_digests({**both, RUN: autumn[RUN]}))
    assert "the statement is of run spring, not autumn" in error.message


AMOUNTS = ["1/0", "9" * 5000, "1" + "0" * 400, "0/0"]


@pytest.mark.parametrize("amount", AMOUNTS)
def test_amounts_that_no_run_has_are_refused(
    curator: LyingCurator, tmp_path: Path, autumn: dict[str, bytes], amount: str
) -> None:
    privacy = json.loads(autumn[PRIVACY])
    privacy["parties"][0]["epsilon_per_person"] = amount
    error = fetched(curator, tmp_path, *with_digests({**autumn, PRIVACY: json.dumps(privacy).encode()}))
    assert "privacy.json: " in error.message
    assert "is no exact number" in error.message or "[other-figures]" in error.message


def test_a_scale_that_no_noise_has_is_refused(curator: LyingCurator, tmp_path: Path, autumn: dict[str, bytes]) -> None:
    marginals = json.loads(autumn[MARGINALS])
    marginals["tables"][0]["scale"] = "1/0"
    error = fetched(curator, tmp_path, *with_digests({**autumn, MARGINALS: json.dumps(marginals).encode()}))
    assert "tables[0].scale: [pattern] '1/0' is no exact number" in error.message


DOCUMENTS = (MODEL, MARGINALS, PRIVACY, SCHEMA, RUN)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(name=st.sampled_from(DOCUMENTS), data=st.data())
def test_a_document_that_does_not_fit_its_format_becomes_no_release(
    curator: LyingCurator,
    tmp_path_factory: pytest.TempPathFactory,
    autumn: dict[str, bytes],
    name: str,
    data: st.DataObject,
) -> None:
    """It is anything at all, or has anything at all in the place of one of its values."""
    document = json.loads(autumn[name])
    key = data.draw(st.sampled_from([None, *sorted(document)]))
    document = data.draw(ANYTHING) if key is None else {**document, key: data.draw(ANYTHING)}
    parts = with_digests({**autumn, name: json.dumps(document).encode()}, json.loads(autumn[RUN]))
    if name == RUN:
        parts = [*((other, content) for other, content in parts if other != RUN), (RUN, json.dumps(document).encode())]
    folder = tmp_path_factory.mktemp("out")
    curator.parts = parts
    try:
        client_of(curator.operator).fetch("autumn", folder / "release", signatures=False)
    except PrivityError:
        assert list(folder.iterdir()) == []
    else:
        assert read_release(folder / "release").run["run"] == "autumn"
        assert headline(read_json(folder / "release" / PRIVACY)).startswith("Privacy loss of a person: ")


@pytest.mark.process
@pytest.mark.parametrize("document", [b"{}", b"[]", b"7", b'{"format_version": 2}'])
def test_the_command_names_a_broken_statement(
    curator: LyingCurator, tmp_path: Path, autumn: dict[str, bytes], document: bytes
) -> None:
    curator.parts = with_digests({**autumn, PRIVACY: document})
    done = privity("run", "fetch", "autumn", "--out", tmp_path / "out", "--config", curator.operator, "--json")
    assert json.loads(done.stderr)["error"] == "bad-input"
    assert "privacy.json" in done.stderr
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.process
def test_the_command_says_what_came(curator: LyingCurator, tmp_path: Path) -> None:
    curator.parts = [("..", b"evil")]
    done = privity("run", "fetch", "autumn", "--out", tmp_path / "out", "--config", curator.operator, "--json")
    assert done.returncode == Exit.OTHER
    assert json.loads(done.stderr)["error"] == "tampered"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("epsilon", ["1e30000000", "abc", "1/0", "1e400", "9" * 5000, "-1", "0.5", "1/2/3"])
def test_an_epsilon_that_no_run_has_is_named_in_every_answer(curator: LyingCurator, epsilon: str) -> None:
    client = client_of(curator.operator)
    curator.status = pb.RunStatus(run="autumn", epsilon=epsilon, state="QUEUED")
    curator.event = pb.RunEvent(state="RUNNING", phase="p", epsilon=epsilon)
    for call in (client.runs, lambda: client.why("autumn"), lambda: list(client.watch("autumn"))):
        with pytest.raises(PrivityError) as found:
            call()
        assert found.value.kind is Catalogue.MALFORMED


@pytest.mark.long
def test_the_longest_epsilons_that_are_read_are_shown(curator: LyingCurator) -> None:
    longest = ["9" * 300, f"1/{'9' * 300}", f"2{'0' * 299}/{'9' * 300}"]
    for epsilon in longest:
        curator.status = pb.RunStatus(run="autumn", epsilon=epsilon, state="QUEUED")
        curator.event = pb.RunEvent(state="COMPLETED", phase="p", epsilon=epsilon)
        for command in ("list", "watch"):
            given = () if command == "list" else ("autumn",)
            done = privity("run", command, *given, "--config", curator.operator)
            assert (done.returncode, "Traceback" in done.stderr) == (Exit.DONE, False), done.stderr


NOTHING = SignedRequest({}, b"")


@pytest.mark.parametrize("name", ["autumn; curl evil", "", "$(evil)", "-x", "a\nb", "a" * 64, "spring"])
def test_the_name_of_a_run_is_checked_before_it_stands_in_a_command(curator: LyingCurator, name: str) -> None:
    client = client_of(curator.operator)
    curator.status = pb.RunStatus(run=name, epsilon="1", state="RUNNING")
    calls = [lambda: client.submit(NOTHING, "autumn", "autumn"), lambda: client.why("autumn")]
    if name != "spring":
        calls += [client.runs, lambda: client.submit(NOTHING, "token")]
    for call in calls:
        with pytest.raises(PrivityError) as found:
            call()
        assert found.value.kind is Catalogue.MALFORMED
    curator.status = pb.RunStatus(run="autumn", epsilon="1")
    assert client.submit(NOTHING, "autumn", "autumn") == client.why("autumn").run == "autumn"

"""Rows in an object store: what is read there, what goes wrong there, and that no key is ever repeated."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from privity.common.crypto.certificates import issue, make_authority
from privity.common.data.schema import parse_schema
from privity.common.errors import Catalogue, PrivityError, RowProblemsFound
from privity.curator.run_state_machine import COMPLETED, RUNNING
from privity.party.sources import duckdb_store, object_store
from privity.party.sources.address import parse_address
from privity.party.sources.held_rows import Access, Hold
from privity.party.sources.open_rows import open_rows
from privity.party.sources.rows import Rows
from tests.curator.test_run_driver import end_of, request
from tests.harness.command import privity
from tests.harness.consortium import TestConsortium, make_consortium
from tests.harness.network import NetworkConsortium
from tests.harness.object_store import HOST, KEYS, Answer, ObjectStore, Request, error, nothing
from tests.harness.object_store import object_store as started
from tests.party.sources.test_rows_in_a_store import NAME, opened_tables, start_with

pytestmark = [pytest.mark.external, pytest.mark.process]

SCHEMA = parse_schema(
    {
        "fields": [
            {"name": "ward", "type": "string", "categories": ["north", "south"]},
            {"name": "score", "type": "integer", "categories": [0, 1, 2]},
        ]
    },
    "s",
)
PAIRS = [(0, 1), (1,)]
MEMORY = 1 << 28


@pytest.fixture(autouse=True, scope="module")
def _soon() -> Iterator[None]:
    """Each group of rows is a part; what fails is tried once; silence is short."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duckdb_store, "PART_BYTES", 1)
        patch.setattr(object_store, "ATTEMPTS", 1)
        patch.setattr(object_store, "SILENT_SECONDS", 1.0)
        yield


def table(start: int = 0, rows: int = 40, score: pa.DataType | None = None) -> pa.Table:
    places = range(start, start + rows)
    wards = [("north", "south")[place % 2] for place in places]
    return pa.table({"ward": wards, "score": pa.array([place % 3 for place in places], score or pa.int64())})


def filled(objects: ObjectStore, folder: str) -> str:
    """The address of three objects of 40 rows, two groups each."""
    for number in range(3):
        objects.put(f"{folder}/{number}.parquet", table(40 * number), 20)
    return objects.address(folder)


def opened(address: str, hold: Hold = Hold.STORE) -> Rows:
    return open_rows(parse_address(address), SCHEMA, Access(hold, MEMORY)).rows


def refusal(ask: Callable[[], object]) -> PrivityError:
    with pytest.raises(PrivityError) as found:
        ask()
    told = f"{found.value} {found.value.remedy}"
    assert not [key for key in KEYS.values() if key in told and key != "true"]
    assert HOST not in told
    assert found.value.remedy
    return found.value


EXPECTED = [20, 20, 20, 20, 20, 20, 40, 40, 40]


def test_an_object_that_is_replaced_added_or_gone_is_noticed(objects: ObjectStore) -> None:
    address = filled(objects, "changes")
    rows = opened(address)
    assert rows.count(PAIRS).tolist() == EXPECTED
    objects.put("changes/1.parquet", table(41), 20)  # as many bytes
    assert refusal(lambda: rows.count(PAIRS)).kind is Catalogue.SOURCE_CHANGED
    rows = opened(filled(objects, "changes"))
    objects.put("changes/deeper/3.parquet", table())
    assert refusal(lambda: rows.count(PAIRS)).kind is Catalogue.SOURCE_CHANGED
    objects.remove("changes/deeper/3.parquet")
    objects.put("changes/_temporary.parquet", table())
    assert rows.count(PAIRS).tolist() == EXPECTED
    objects.remove("changes/2.parquet")
    assert refusal(lambda: rows.count(PAIRS)).kind is Catalogue.SOURCE_CHANGED
    one = opened(objects.address("changes/0.parquet"))
    objects.remove("changes/0.parquet")
    assert refusal(lambda: one.count(PAIRS)).kind is Catalogue.SOURCE_UNREACHABLE
    objects.put("changes/0.parquet", table(), 20)
    assert refusal(lambda: one.count(PAIRS)).kind is Catalogue.SOURCE_CHANGED


def no_more(code: str, status: str = "403 Forbidden", method: str = "") -> Callable[[Request], Answer]:
    return lambda request: error(status, code) if method in request["REQUEST_METHOD"] else None


@pytest.fixture(scope="module")
def ready(objects: ObjectStore) -> tuple[str, Rows]:
    address = filled(objects, "refused")
    return address, opened(address)


@pytest.mark.parametrize(
    ("meddle", "kind", "said"),
    [
        (no_more("AccessDenied"), Catalogue.SOURCE_REFUSED, "does not let its objects be read"),
        (no_more("AccessDenied", method="HEAD"), Catalogue.SOURCE_REFUSED, "does not let its objects be read"),
        (no_more("SignatureDoesNotMatch"), Catalogue.SOURCE_REFUSED, "does not let its objects be read"),
        (no_more("InvalidAccessKeyId"), Catalogue.SOURCE_REFUSED, "does not let its objects be read"),
        (no_more("ExpiredToken", "400 Bad Request"), Catalogue.SOURCE_UNREACHABLE, "its keys have expired"),
        (no_more("NoSuchBucket", "404 Not Found"), Catalogue.SOURCE_REFUSED, "there is no such bucket"),
        (no_more("SlowDown", "503 Slow Down"), Catalogue.SOURCE_UNREACHABLE, "it does not answer"),
        (no_more("InternalError", "500 Oh"), Catalogue.SOURCE_UNREACHABLE, "it does not answer"),
        (lambda request: time.sleep(3), Catalogue.SOURCE_UNREACHABLE, "it does not answer"),
    ],
)
def test_what_a_store_refuses_is_told_with_the_remedy(
    meddle: Callable[[Request], Answer], kind: Catalogue, said: str, objects: ObjectStore, ready: tuple[str, Rows]
) -> None:
    address, rows = ready
    objects.meddle = meddle
    for ask in (lambda: opened(address), lambda: rows.count(PAIRS)):
        found = refusal(ask)
        assert (found.kind, said in found.message) == (kind, True), found.message
    objects.meddle = lambda request: None
    if kind is Catalogue.SOURCE_UNREACHABLE:
        assert rows.count(PAIRS).tolist() == EXPECTED


def test_what_is_not_there_is_told(objects: ObjectStore) -> None:
    for address in (objects.address("nothing"), objects.address("nothing/*.parquet")):
        assert "an object is not there" in refusal(lambda address=address: opened(address)).message
    objects.put("mixed/a.parquet", table())
    objects.put("mixed/b.feather", table())
    assert "files of another kind than Parquet" in refusal(lambda: opened(objects.address("mixed"))).message
    assert opened(objects.address("mixed/*.parquet")).rows == 40
    silent = objects.address("x").replace(objects.endpoint, "http://127.0.0.1:9")
    assert refusal(lambda: opened(silent)).kind is Catalogue.SOURCE_UNREACHABLE


def test_columns_of_different_types_are_never_made_into_one(objects: ObjectStore) -> None:
    objects.put("types/a.parquet", table())
    objects.put("types/b.parquet", table(score=pa.float64()))
    with pytest.raises(RowProblemsFound, match="int64 in one file, double in another"):
        opened(objects.address("types"))


def test_a_pass_that_breaks_off_goes_on_with_the_parts_that_are_not_counted(objects: ObjectStore) -> None:
    rows = opened(filled(objects, "parts"))
    left = 0

    def breaks(request: Request) -> Answer:
        nonlocal left
        if request["REQUEST_METHOD"] == "GET" and "list-type" not in request["QUERY_STRING"]:
            left -= 1
            if left < 0:
                return error("500 Oh", "InternalError")
        return None

    read: list[list[str]] = []
    found: list[int] | None = None
    objects.meddle = breaks
    while found is None:
        left = 3
        objects.asked.clear()
        with contextlib.suppress(PrivityError):
            found = rows.count(PAIRS).tolist()
        read.append([path for method, path in objects.asked if method == "GET" and path.endswith(".parquet")])
    assert found == EXPECTED
    assert len(read) == 2, "three of six parts a try"
    assert "/lake/parts/0.parquet" in read[0]
    assert "/lake/parts/0.parquet" not in read[1]


def test_an_object_that_goes_in_the_middle_of_a_pass_is_never_left_out(objects: ObjectStore) -> None:
    rows = opened(filled(objects, "going"))

    def goes(request: Request) -> Answer:
        if request["PATH_INFO"].endswith("1.parquet") and request["REQUEST_METHOD"] == "GET":
            objects.meddle = lambda request: None
            objects.remove("going/1.parquet")
        return None

    objects.meddle = goes
    assert refusal(lambda: rows.count(PAIRS)).kind is Catalogue.SOURCE_UNREACHABLE
    assert refusal(lambda: rows.count(PAIRS)).kind is Catalogue.SOURCE_CHANGED


def test_an_object_that_is_replaced_in_the_middle_of_a_pass_is_never_counted(objects: ObjectStore) -> None:
    rows = opened(filled(objects, "swapped"))

    def swaps(request: Request) -> Answer:
        if request["PATH_INFO"].endswith("1.parquet") and request["REQUEST_METHOD"] == "GET":
            objects.meddle = lambda request: None
            objects.put("swapped/0.parquet", table(1), 20)
        return None

    objects.meddle = swaps
    assert refusal(lambda: rows.count(PAIRS)).kind is Catalogue.SOURCE_CHANGED


def test_the_endpoint_speaks_tls_unless_it_is_said_and_its_certificate_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = make_authority("a hospital")
    certificate, key = issue(authority, "store", "curator", [HOST])
    files = tmp_path / "certificate.pem", tmp_path / "key.pem"
    files[0].write_bytes(certificate + authority.cert_pem)
    files[1].write_bytes(key)
    (tmp_path / "authority.pem").write_bytes(authority.cert_pem)
    with started(files, tmp_path / "authority.pem") as objects:
        objects.put("rows.parquet", table())
        bare = objects.endpoint.removeprefix("https://")
        address = objects.address("rows.parquet").replace("https://", "")
        assert bare in address
        assert "its certificate is not known here" in refusal(lambda: opened(address)).message
        monkeypatch.setenv("AWS_CA_BUNDLE", str(tmp_path / "authority.pem"))
        assert opened(address).rows == 40
        monkeypatch.setenv("AWS_ENDPOINT_URL", objects.endpoint)
        assert opened("s3://lake/*.parquet").rows == 40


def test_keys_come_from_a_file_too_and_others_are_refused(
    objects: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = filled(objects, "keys")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    file = tmp_path / "credentials"
    file.write_text("[default]\naws_access_key_id = of-a-file\naws_secret_access_key = hidden\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(file))
    shown: list[str] = []
    objects.meddle = lambda request: shown.append(request["HTTP_AUTHORIZATION"])
    assert opened(address).rows == 120
    assert all("Credential=of-a-file/" in one for one in shown)


def command(objects: ObjectStore, folder: Path, *arguments: str) -> str:
    """What a command over a table there prints; it must succeed."""
    schema = folder / "visits.schema.json"
    schema.write_text(json.dumps(SCHEMA.table_schema()))
    address = filled(objects, "commands")
    done = privity(*(schema if one == "SCHEMA" else address if one == "DATA" else one for one in arguments))
    assert done.returncode == 0, done.stderr
    assert not [key for key in KEYS.values() if key in done.stdout + done.stderr and key != "true"]
    return done.stdout


@pytest.mark.long
def test_a_command_takes_the_address_of_an_object_store(objects: ObjectStore, tmp_path: Path) -> None:
    told = command(objects, tmp_path, "schema", "check", "SCHEMA", "--data", "DATA")
    assert "120 rows, all in the domain" in told


@pytest.mark.long
def test_a_simulation_shares_out_the_rows_of_an_object_store(objects: ObjectStore, tmp_path: Path) -> None:
    options = ("--schema", "SCHEMA", "--epsilon", "1", "--algorithm", "one-way", "--parties", "2")
    out = ("--secure-sum", "masks", "--out", str(tmp_path / "release"))
    command(objects, tmp_path, "simulate", "--data", "DATA", *options, *out)
    assert (tmp_path / "release" / "synthetic.csv").exists()


@pytest.mark.long
def test_a_run_waits_for_a_store_that_fails_in_the_middle_of_a_pass_and_is_charged_once(
    objects: ObjectStore, tmp_path: Path
) -> None:
    def consortium() -> TestConsortium:
        return make_consortium(2, domain=(2, 3, 2), rows=60, seed=5)

    async def run_of(made: TestConsortium, folder: Path, *, breaks: bool) -> str:
        await asyncio.to_thread(folder.mkdir)
        async with NetworkConsortium(folder, made) as network:
            served = network.server.runs
            name = network.submit("one", request(), "the-run")
            if breaks:
                while not served.notes(served.get(name)):
                    assert served.get(name).state in ("QUEUED", RUNNING), served.get(name).reason
                    await asyncio.sleep(0.02)
                charged = made.parties[NAME].ledger.spent()
                assert charged
                await asyncio.sleep(2.5)
                assert made.parties[NAME].ledger.spent() == charged, "a step that waits is charged once"
                objects.meddle = nothing
            assert await end_of(served, name) == (COMPLETED, "")
            return opened_tables(network, name)["marginals.json"]

    undisturbed, disturbed = consortium(), consortium()
    expected = asyncio.run(run_of(undisturbed, tmp_path / "undisturbed", breaks=False))
    codes = disturbed.parties[NAME].table.columns
    names = disturbed.schema.names
    objects.put(
        "run/rows.parquet", pa.table({name: list(map(str, one)) for name, one in zip(names, codes, strict=True)}), 20
    )
    address = parse_address(objects.address("run"))
    start_with(disturbed, open_rows(address, disturbed.schema, Access(Hold.STORE, MEMORY)).rows)
    reads = 0

    def breaks(asked: Request) -> Answer:
        nonlocal reads
        reads += asked["REQUEST_METHOD"] == "GET" and asked["PATH_INFO"].endswith(".parquet")
        return error("500 Oh", "InternalError") if reads > 1 else None

    objects.meddle = breaks
    assert asyncio.run(run_of(disturbed, tmp_path / "disturbed", breaks=True)) == expected
    for name, party in disturbed.parties.items():
        assert party.ledger.spent() == undisturbed.parties[name].ledger.spent()

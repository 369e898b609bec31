"""New keys beside those in use: taken when a manifest lists them, live, and never before."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shutil
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from privity.common.consortium.invitation import Join, read_join
from privity.common.consortium.key_renewal import Next, fitting_key
from privity.common.consortium.manifest import CURATOR, Manifest
from privity.common.consortium.member_folder import renew
from privity.common.crypto.certificates import certificate_request, issue_for_request, self_signed
from privity.common.crypto.identity import Identity, PublicIdentity
from privity.common.errors import PrivityError
from privity.common.formats.declared_keys import new_file
from privity.common.protocol.steps import Close
from privity.common.storage.canonical_json import b64
from privity.deploy.operator.operator_folder import OperatorConfig, client_of
from privity.party import agent
from privity.party.keys import FORMER, KeyFiles
from tests.harness.command import privity, wait_until
from tests.harness.consortium import TestConsortium, make_consortium
from tests.harness.network import NetworkConsortium
from tests.harness.steps import pure
from tests.harness.tls import HOST, OPERATOR

pytestmark = pytest.mark.process

PARTY = "party-1"
NO_NOISE = Fraction(100)
POSSESSION = b64(Identity.generate().public().agreement)


def member_files(folder: Path, consortium: TestConsortium, role: str, name: str) -> Path:
    """A member's folder as `init` leaves it: TLS key, a party's own keys, the answer."""
    place = folder / f"home-{name}"
    place.mkdir()
    certificate, key = consortium.tls.pairs[f"{role}/{name}"]
    (place / "tls.pem").write_bytes(certificate)
    (place / "tls.key").write_bytes(key)
    identity = consortium.parties[name].identity if role == "party" else None
    if identity:
        identity.save(place / "keys")
    answer = Join("test", role, name, POSSESSION, identity and identity.public(), certificate.decode())  # type: ignore[arg-type]
    (place / f"join-{name}.json").write_text(json.dumps(answer.signed(identity)))
    return place


def start(network: NetworkConsortium, place: Path) -> asyncio.Task[None]:
    return network.start_agent(
        PARTY, keys=place / "keys", certificate=place / "tls.pem", key=place / "tls.key", state=place / "state"
    )


def renewed(place: Path, *, keys: bool) -> dict:
    identity = Identity.generate() if keys else Identity.load(place / "keys")
    waiting = Next(place / "tls.key", place / "tls.pem", place / "keys")
    return renew(waiting, "party", PARTY, identity, keys=keys)[1]


def listing(manifest: Manifest, answer: dict, serial: int = 2) -> Manifest:
    """The manifest that the organiser seals with this answer of party-1."""
    return replace(
        manifest,
        serial=serial,
        members={**manifest.members, PARTY: PublicIdentity.from_dict(answer["keys"])},
        certificates={**manifest.certificates, f"party/{PARTY}": answer["certificate"]},
    )


@pytest.mark.parametrize("keys", [False, True], ids=["certificate", "keys too"])
def test_a_begun_run_goes_on_and_the_next_one_is_under_the_new_keys(tmp_path: Path, keys: bool) -> None:
    async def scenario() -> None:
        consortium = make_consortium(3)
        place = member_files(tmp_path, consortium, "party", PARTY)
        async with NetworkConsortium(tmp_path, consortium) as network:
            await network.stop_agent(PARTY)
            serving = start(network, place)
            plan = await network.begin(consortium.spec(epsilon=NO_NOISE))
            answer = renewed(place, keys=keys)
            (table,) = await network.session(plan).measure("before", [(0, 1)], pure(Fraction(1, 2)))
            assert (place / "next").exists(), "nothing lists it yet"

            network.seal(listing(consortium.manifest, answer))
            (table,) = await network.session(plan).measure("after", [(0, 1)], pure(NO_NOISE - 1))
            assert table.counts.sum() == 180
            assert not (place / "next").exists()
            assert (place / "tls.pem").read_text() == answer["certificate"]
            assert Identity.load(place / "keys").public().to_dict() == answer["keys"]
            former = place / FORMER
            assert former.exists() == keys, "the open run needs the former keys"

            newest = consortium.manifest = listing(consortium.manifest, answer)
            spec = consortium.spec(run="run-2", epsilon=NO_NOISE, manifest_digest=newest.digest)
            (table,) = await network.session(await network.begin(spec)).measure("new", [(0, 1)], pure(NO_NOISE))
            assert table.counts.sum() == 180

            await network.server.desk.ask(PARTY, Close("run-1", "COMPLETED"), "close")
            await asyncio.to_thread(wait_until, lambda: not keys or not list(former.iterdir()), "erased")
            assert not serving.done()

    asyncio.run(scenario())


def test_a_node_that_starts_again_finds_the_keys_of_its_open_runs(tmp_path: Path) -> None:
    consortium = make_consortium(2)
    place = member_files(tmp_path, consortium, "party", PARTY)
    newest = listing(consortium.manifest, renewed(place, keys=True))
    files = KeyFiles(PARTY, place / "keys", place / "tls.pem", place / "tls.key")
    assert files.settle(consortium.manifest) is None
    assert files.settle(newest) is not None
    keys = files.load()
    for manifest in (consortium.manifest, newest):
        assert keys.of(manifest).public() == manifest.keys_of(PARTY)
    files.erase({newest.keys_of(PARTY)})
    with pytest.raises(PrivityError, match="not the keys that the manifest lists"):
        files.load().of(consortium.manifest)


@pytest.mark.parametrize("crash_before", range(4))
def test_a_crash_while_the_new_ones_are_taken_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, crash_before: int
) -> None:
    consortium = make_consortium(2)
    place = member_files(tmp_path, consortium, "party", PARTY)
    newest = listing(consortium.manifest, renewed(place, keys=True))
    done = 0

    class Crash(BaseException):
        pass

    def move(*arguments, before=os.rename, **options):
        nonlocal done
        if done == crash_before:
            raise Crash
        done += 1
        return before(*arguments, **options)

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", move)
        with pytest.raises(Crash):
            KeyFiles(PARTY, place / "keys", place / "tls.pem", place / "tls.key").settle(newest)
    again = KeyFiles(PARTY, place / "keys", place / "tls.pem", place / "tls.key")
    assert again.settle(newest) is not None
    for manifest in (consortium.manifest, newest):
        assert again.load().of(manifest).public() == manifest.keys_of(PARTY)
    certificate = (place / "tls.pem").read_text()
    assert certificate == newest.certificates[f"party/{PARTY}"]
    assert fitting_key(certificate, place / "tls.key") == place / "tls.key"
    assert not (place / "next").exists()


def test_a_party_that_is_refused_with_both_stops_and_keeps_both(tmp_path: Path) -> None:
    async def scenario() -> None:
        consortium = make_consortium(2)
        place = member_files(tmp_path, consortium, "party", PARTY)
        async with NetworkConsortium(tmp_path, consortium) as network:
            await network.stop_agent(PARTY)
            renewed(place, keys=True)
            other = self_signed(PARTY, "party")[0].decode()
            certificates = {**consortium.manifest.certificates, f"party/{PARTY}": other}
            network.seal(replace(consortium.manifest, serial=2, certificates=certificates))
            with pytest.raises(PrivityError, match="manifest does not list it"):
                await asyncio.wait_for(asyncio.shield(start(network, place)), 60)
            assert (place / "next" / "keys").exists()
            assert (place / "tls.pem").read_bytes() == consortium.tls.pairs[f"party/{PARTY}"][0]

    asyncio.run(scenario())


def test_a_party_without_anything_to_do_takes_a_newer_manifest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The first one at its first connection, newer ones while it idles; nobody asks it anything."""
    caplog.set_level(logging.INFO, "privity")
    monkeypatch.setattr(agent, "WAIT_SECONDS", 1)
    monkeypatch.setattr(agent, "MANIFEST_SECONDS", 0.0)

    def serials() -> list[int]:
        files = [tmp_path / f"party-{k}-manifest.json" for k in (1, 2)]
        return [json.loads(file.read_text())["manifest"]["serial"] for file in files if file.exists()]

    async def scenario() -> None:
        consortium = make_consortium(2)
        async with NetworkConsortium(tmp_path, consortium) as network:
            first = consortium.manifest.serial
            await asyncio.to_thread(wait_until, lambda: serials() == [first, first], "the first manifest")
            network.seal(replace(consortium.manifest, serial=first + 1))
            await asyncio.to_thread(wait_until, lambda: serials() == [first + 1, first + 1], "the newer manifest")

            def told() -> int:
                lines = [line for line in caplog.records if line.name == "privity.manifest"]
                return sum(line.__dict__["serial"] == first + 1 for line in lines)

            # Said after the file is in its place.
            await asyncio.to_thread(wait_until, lambda: told() == 3, "a line of the curator and of each party")

    asyncio.run(scenario())


async def reconnect(network: NetworkConsortium) -> None:
    """A party on a new connection, through which it is asked something."""
    await network.stop_agent(PARTY)
    network.start_agent(PARTY)
    await asyncio.wait_for(network.server.desk.ask(PARTY, Close("no-run", "FAILED"), "close"), 20)


def test_a_curator_shows_the_certificate_that_is_sealed_and_none_that_is_not_of_its_key(tmp_path: Path) -> None:
    async def scenario() -> None:
        consortium = make_consortium(2)

        def listing_request(request: bytes, serial: int) -> Manifest:
            certificate = issue_for_request(consortium.tls.authority, request, CURATOR, [HOST]).decode()
            certificates = {**consortium.manifest.certificates, "curator/curator": certificate}
            return replace(consortium.manifest, serial=serial, certificates=certificates)

        async with NetworkConsortium(tmp_path, consortium) as network:
            key = tmp_path / "curator-curator.key"
            first = key.read_bytes()
            request, _ = certificate_request(CURATOR)
            joined = Join("test", "curator", CURATOR, POSSESSION, None, request.decode())
            (tmp_path / "join-curator.json").write_text(json.dumps(joined.signed(None)))
            file, answer = renew(Next(key), "curator", CURATOR)
            assert read_join(file).certificate == answer["certificate"]
            await reconnect(network)

            network.seal(listing_request(request, serial=2))
            await reconnect(network)
            assert key.read_bytes() == first

            network.seal(listing_request(answer["certificate"].encode(), serial=3))
            await reconnect(network)
            assert key.read_bytes() != first
            assert not (tmp_path / "next").exists()

    asyncio.run(scenario())


def test_an_operator_goes_on_with_the_old_until_the_curator_knows_the_new(tmp_path: Path) -> None:
    async def scenario() -> None:
        consortium = make_consortium(2)
        place = member_files(tmp_path, consortium, "operator", OPERATOR)
        async with NetworkConsortium(tmp_path, consortium) as network:
            shutil.copy(tmp_path / "organiser.pub", place)
            settings = place / "operator.toml"
            settings.write_text(new_file(OperatorConfig, curator=f"{HOST}:{network.port}"))
            done = await asyncio.to_thread(privity, "operator", "renew", "--config", settings)
            assert done.returncode == 0, done.stderr
            answer = read_join(place / f"join-{OPERATOR}.json")

            client = await asyncio.to_thread(client_of, settings)
            assert await asyncio.to_thread(client.known)
            assert client.certificate.read_text() != answer.certificate

            certificates = {**consortium.manifest.certificates, f"operator/{OPERATOR}": answer.certificate}
            network.seal(replace(consortium.manifest, serial=2, certificates=certificates))
            client = await asyncio.to_thread(client_of, settings)
            assert await asyncio.to_thread(client.known)
            assert client.certificate.read_text() == answer.certificate
            assert not (place / "next").exists()

    asyncio.run(scenario())


def test_renewing_twice_or_before_joining_says_what_comes_first(tmp_path: Path) -> None:
    consortium = make_consortium(2)
    place = member_files(tmp_path, consortium, "party", PARTY)
    renewed(place, keys=False)
    kept = (place / "next" / "tls.pem").read_bytes()
    with pytest.raises(PrivityError, match="no manifest has listed yet"):
        renewed(place, keys=True)
    assert (place / "next" / "tls.pem").read_bytes() == kept
    with pytest.raises(PrivityError, match=r"This comes first: privity party init"):
        renew(Next(tmp_path / "tls.key"), "party", PARTY, Identity.generate())


def test_what_a_crash_left_of_former_keys_is_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    consortium = make_consortium(2)
    place = member_files(tmp_path, consortium, "party", PARTY)
    newest = listing(consortium.manifest, renewed(place, keys=True))
    files = KeyFiles(PARTY, place / "keys", place / "tls.pem", place / "tls.key")
    files.settle(newest)

    class Crash(BaseException):
        pass

    def half(folder: Path, **_options: object) -> None:
        next(folder.iterdir()).unlink()
        raise Crash

    with monkeypatch.context() as patched:
        patched.setattr(shutil, "rmtree", half)
        with pytest.raises(Crash):
            files.erase({newest.keys_of(PARTY)})
    assert files.load().of(newest).public() == newest.keys_of(PARTY)
    files.erase({newest.keys_of(PARTY)})
    assert list((place / FORMER).iterdir()) == []


@pytest.mark.parametrize("left", [("tls.pem",), ()])
def test_a_crash_while_an_operator_takes_its_own_is_mended_at_the_next_command(
    tmp_path: Path, left: tuple[str, ...]
) -> None:
    consortium = make_consortium(2)
    place = member_files(tmp_path, consortium, "operator", OPERATOR)
    (place / "organiser.pub").write_text(b64(consortium.tls.organiser.public().signing))
    settings = place / "operator.toml"
    settings.write_text(new_file(OperatorConfig, curator=f"{HOST}:1"))
    assert privity("operator", "renew", "--config", settings).returncode == 0
    new = {name: (place / "next" / name).read_bytes() for name in ("tls.key", "tls.pem")}
    for name in new:
        if name not in left:
            (place / "next" / name).replace(place / name)
    client = client_of(settings)
    assert {name: (place / name).read_bytes() for name in new} == new
    assert client.certificate == place / "tls.pem"
    assert privity("operator", "renew", "--config", settings).returncode == 0, "nothing is in its way"


@pytest.mark.parametrize(
    "change",
    [{"schema_digest": "0" * 64}, {"members": {PARTY: Identity.generate().public()}}],
    ids=["another schema", "others' keys"],
)
def test_a_manifest_that_does_not_fit_leaves_the_one_before(tmp_path: Path, change: dict) -> None:
    """Runs that have begun go on, and the next manifest, which fits, is taken."""

    async def scenario() -> None:
        consortium = make_consortium(2)
        async with NetworkConsortium(tmp_path, consortium) as network:
            plan = await network.begin(consortium.spec(epsilon=NO_NOISE))
            wrong = {**change}
            if "members" in change:
                wrong["members"] = {**consortium.manifest.members, **change["members"]}
            network.seal(replace(consortium.manifest, serial=2, **wrong))
            with pytest.raises(PrivityError, match="another manifest"):
                await network.begin(consortium.spec(run="run-2", manifest_digest="0" * 64))
            (table,) = await network.session(plan).measure("test", [(0, 1)], pure(NO_NOISE))
            assert table.counts.sum() == 120
            right = replace(consortium.manifest, serial=3)
            network.seal(right)
            await network.begin(consortium.spec(run="run-3", manifest_digest=right.digest))

    asyncio.run(scenario())

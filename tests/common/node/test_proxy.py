"""Dialling out through a real proxy, over real TLS: what passes, what is refused, and what is said about it."""

from __future__ import annotations

import asyncio
import logging
import socket
import traceback
from fractions import Fraction
from pathlib import Path

import pytest

from privity.common.consortium.manifest_file import ManifestFile
from privity.common.errors import PrivityError, ProblemsFound
from privity.common.formats.declared_keys import new_file
from privity.common.node.proxy import parse_proxy
from privity.common.node.tls_check import Finding, Stage, check_connection, check_proxy
from privity.common.protocol.steps import Close
from privity.common.runs.signed_request import SignedRequest
from privity.deploy.operator.operator_client import OperatorClient
from privity.party.config import PartyConfig, load_config
from tests.harness.consortium import make_consortium
from tests.harness.network import NetworkConsortium
from tests.harness.proxy import ConnectProxy
from tests.harness.steps import pure
from tests.harness.tls import HOST, OPERATOR

pytestmark = pytest.mark.process

HIDDEN = "curator.hidden.invalid"
"""Only the proxy knows it."""

SECRET = "p@ss:w%rd"
CREDENTIALS = f"north:{SECRET}"


def url(port: int, user: str = "north:p%40ss%3Aw%25rd@") -> str:
    return f"http://{user}127.0.0.1:{port}"


async def restart_behind(network: NetworkConsortium, proxy: str) -> None:
    """Every party dials a name that no server of this machine resolves, through the proxy."""
    for name in network.consortium.parties:
        await network.stop_agent(name)
        curator = f"{HIDDEN}:{network.port}"
        network.start_agent(name, curator=curator, curator_name=HOST, proxy=parse_proxy(proxy))


def test_a_run_goes_through_whatever_the_environment_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, value in (("no_proxy", "invalid,*"), ("https_proxy", "http://127.0.0.1:1"), ("no_grpc_proxy", "*")):
        monkeypatch.setenv(variable, value)

    async def scenario() -> list[str]:
        consortium = make_consortium(3)
        async with (
            ConnectProxy(CREDENTIALS, names={HIDDEN: "127.0.0.1"}) as proxy,
            NetworkConsortium(tmp_path, consortium) as network,
        ):
            await restart_behind(network, url(proxy.port))
            plan = await network.begin(consortium.spec(epsilon=Fraction(100)))
            (table,) = await network.session(plan).measure("test", [(0, 1)], pure(Fraction(100)))
            assert table.counts.sum() == 180
            assert set(proxy.asked) == {f"{HIDDEN}:{network.port}"}
            return proxy.asked

    assert len(asyncio.run(scenario())) == 3


def test_an_operator_goes_through(tmp_path: Path) -> None:
    async def scenario() -> None:
        consortium = make_consortium(2)
        certificate, key = consortium.tls.files(tmp_path, "operator", OPERATOR)
        async with ConnectProxy() as proxy, NetworkConsortium(tmp_path, consortium) as network:
            files = (tmp_path / "operator-manifest.json", tmp_path / "organiser.pub")
            dialled = (f"{HOST}:{network.port}", ManifestFile(*files), certificate, key)
            client = OperatorClient(*dialled, parse_proxy(url(proxy.port, "")))
            with pytest.raises(PrivityError) as caught:
                await asyncio.to_thread(client.submit, SignedRequest({}, b""), "token")
            assert caught.value.code == "curator-refused", "it is the curator who says no"
            # For the first manifest, whose certificate is looked at before, and for the call itself.
            assert proxy.asked == [f"{HOST}:{network.port}"] * 3

    asyncio.run(scenario())


def test_a_proxy_of_the_environment_is_the_way_to_the_first_manifest_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name of the curator resolves at the proxy only."""
    monkeypatch.delenv("no_grpc_proxy", raising=False)

    async def scenario() -> None:
        consortium = make_consortium(2)
        proxied = ConnectProxy(CREDENTIALS, names={HIDDEN: "127.0.0.1"})
        async with proxied as proxy, NetworkConsortium(tmp_path, consortium, dialling=False) as network:
            monkeypatch.setenv("https_proxy", url(proxy.port, "north:p%40ss%3Aw%25rd@"))
            first, address = tmp_path / "first.json", f"{HIDDEN}:{network.port}"
            network.start_agent("party-1", manifest=first, curator=address, curator_name=HOST)
            await asyncio.wait_for(network.server.desk.ask("party-1", Close("no-run", "FAILED"), "close"), 15)
            assert set(proxy.asked) == {address}
            assert first.exists()

    asyncio.run(scenario())


def found(folder: Path, proxy: ConnectProxy, user: str = "") -> tuple[Finding, Finding]:
    """What a party finds behind this proxy, and what of it the proxy alone decides."""

    async def scenario() -> tuple[Finding, Finding]:
        consortium = make_consortium(2)
        async with proxy, NetworkConsortium(folder, consortium) as network:
            files = consortium.tls.files(folder, "party", "party-1")
            address, through = f"{HOST}:{network.port}", parse_proxy(url(proxy.port, user))
            manifest = consortium.manifest
            whole = await asyncio.to_thread(check_connection, address, None, manifest, *files, through)
            return whole, await asyncio.to_thread(check_proxy, address, through)

    return asyncio.run(scenario())


def test_a_way_through_is_found(tmp_path: Path) -> None:
    whole, proxy = found(tmp_path, ConnectProxy(CREDENTIALS), "north:p%40ss%3Aw%25rd@")
    assert (whole.stage, proxy.stage) == (Stage.THROUGH, Stage.THROUGH)
    assert "http://127.0.0.1:" in proxy.reason
    assert SECRET not in repr((whole, proxy))


@pytest.mark.parametrize(
    ("proxy", "user", "stage", "said", "to_do"),
    [
        (ConnectProxy(CREDENTIALS), "", Stage.PROXY, "asks for credentials: HTTP/1.1 407", "USER:PASSWORD@"),
        (ConnectProxy(CREDENTIALS), "north:wrong@", Stage.PROXY, "does not accept these credentials", "USER:PASSWORD@"),
        (ConnectProxy(refusal="403 Forbidden"), "", Stage.PROXY, "says: HTTP/1.1 403 Forbidden", "allow CONNECT"),
        (ConnectProxy(refusal="502 Bad Gateway"), "", Stage.NETWORK, "says: HTTP/1.1 502", "the proxy can reach it"),
        (ConnectProxy(refusal="2\x1b[31m0"), "", Stage.NETWORK, "does not speak HTTP", "Check `proxy`"),
        (ConnectProxy(names={HOST: "127.0.0.2"}), "", Stage.NETWORK, "says: HTTP/1.1 503", "the proxy can reach it"),
    ],
    ids=["no credentials", "wrong credentials", "forbidden", "bad gateway", "no HTTP", "nobody behind"],
)
def test_a_refusal_is_told_with_the_proxys_own_words(
    tmp_path: Path, proxy: ConnectProxy, user: str, stage: Stage, said: str, to_do: str
) -> None:
    for finding in found(tmp_path, proxy, user):
        assert finding.stage is stage
        assert said in finding.reason
        assert "http://127.0.0.1:" in finding.reason
        assert "wrong" not in finding.reason
        assert to_do in finding.remedy
        assert finding.of_identity == (stage is Stage.PROXY)


@pytest.mark.parametrize(
    ("proxy", "stage", "said"),
    [
        ("http://proxy.invalid:3128", Stage.PROXY_AWAY, "the proxy http://proxy.invalid:3128 has no address"),
        ("http://u:hidden@127.0.0.1:1", Stage.PROXY_AWAY, "the proxy http://127.0.0.1:1: Connection refused"),
    ],
)
def test_a_proxy_that_is_not_there_is_named(proxy: str, stage: Stage, said: str) -> None:
    finding = check_proxy(f"{HIDDEN}:7443", parse_proxy(proxy))
    assert finding.stage is stage
    assert said in finding.reason
    assert "hidden@" not in finding.reason
    assert not finding.of_identity


def test_a_party_whose_credentials_are_refused_stops_and_tells_no_password(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)

    async def scenario() -> PrivityError:
        consortium = make_consortium(2)
        async with ConnectProxy("north:another") as proxy, NetworkConsortium(tmp_path, consortium) as network:
            await network.stop_agent("party-1")
            task = network.start_agent("party-1", proxy=parse_proxy(url(proxy.port)))
            with pytest.raises(PrivityError) as caught:
                await asyncio.wait_for(asyncio.shield(task), 60)
            return caught.value

    error = asyncio.run(scenario())
    assert error.code == "connection-failed"
    assert "does not accept these credentials" in error.message
    written = "".join([*traceback.format_exception(error), caplog.text, *capfd.readouterr()])
    assert SECRET not in written
    assert "p%40ss" not in written


def test_a_party_whose_proxy_is_away_waits_for_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

    async def scenario() -> None:
        consortium = make_consortium(2)
        proxy = ConnectProxy(names={HIDDEN: "127.0.0.1"})
        async with NetworkConsortium(tmp_path, consortium, patience=60) as network:
            await restart_behind(network, url(port))
            asking = asyncio.create_task(network.begin())
            while not any(vars(record).get("reason") == "the proxy is not reached" for record in caplog.records):
                await asyncio.sleep(0.05)
            await proxy.start(port=port)
            await asking
            await proxy.__aexit__()

    asyncio.run(scenario())
    assert SECRET not in caplog.text
    assert "p%40ss" not in caplog.text


@pytest.mark.parametrize(
    "wrong",
    ["proxy.example.org", "https://u:hidden@p:1", "http://u:hid/den@p:1", "http://u:hidden@p", "http://u:hidden@p:0",
     "http://u:hidden@p:99999", "http://u:hidden@p:1/x", "http://u:hid%zzden@p:1", "http://u:hidden@p\r\nX: y:1"],
)  # fmt: skip
def test_an_address_that_is_none_is_refused_and_not_repeated(tmp_path: Path, wrong: str) -> None:
    file = tmp_path / "party.toml"
    text = new_file(PartyConfig, name="north", curator="localhost:1", data="rows.csv")
    escaped = wrong.replace("\r\n", "\\r\\n")
    file.write_text(text + f'\nproxy = "{escaped}"\n')
    with pytest.raises(ProblemsFound) as caught:
        load_config(file)
    (problem,) = caught.value.problems
    assert (problem.field, problem.rule) == ("proxy", "proxy")
    assert "hid" not in str(caught.value)


def test_what_an_address_means(tmp_path: Path) -> None:
    file = tmp_path / "party.toml"
    file.write_text(
        new_file(PartyConfig, name="north", curator="localhost:1", data="rows.csv")
        + '\nproxy = "http://u%40h:a%3Ab@[::1]:3128/"\n'
    )
    proxy = load_config(file).proxy
    assert proxy is not None
    assert (proxy.host, proxy.port, proxy.user, proxy.password) == ("::1", 3128, "u@h", "a:b")
    assert str(proxy) == "http://[::1]:3128"
    assert "a%3Ab" not in repr(proxy)
    assert "a:b" not in repr(load_config(file))

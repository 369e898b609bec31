"""The Helm chart, rendered by Helm's own code without a cluster, against the API's schemas; its first containers."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import yaml

from privity.common.privacy.ledger_folder import default_ledger, open_ledger
from privity.common.privacy.population import Population
from privity.party.config import load_config
from tests.harness.command import ROOT, privity, run_in
from tests.harness.founding import entry_points

pytestmark = pytest.mark.external

CHART = ROOT / "deploy" / "packaging" / "helm" / "privity"
NORTH = "patients of the north"
PEOPLE = {"name": NORTH, "totalEpsilon": 1}
DIGEST = f"sha256:{'0123456789abcdef' * 4}"
IMAGE = {"repository": "registry.example/privity", "digest": DIGEST}
DIALS = {"curator": {"to": [{"ipBlock": {"cidr": "203.0.113.7/32"}}]}}
PARTY = {
    "role": "party", "member": "north", "image": IMAGE, "rows": {"claim": "north-rows"}, "population": PEOPLE,
    "egress": DIALS,
}  # fmt: skip
CURATOR = {"role": "curator", "member": "curator", "image": IMAGE, "service": {"type": "LoadBalancer"}}
DATABASE = {"to": [{"ipBlock": {"cidr": "10.0.0.9/32"}}], "ports": [{"port": 5432}]}
KUBERNETES = "1.34"

NOBODY = 65534


@pytest.fixture(scope="module")
def helm() -> Any:
    return pytest.importorskip("helm_python", reason="Helm's library is not installed (helm-python-sdk)")


@pytest.fixture
def chart(helm: Any) -> Iterator[Any]:
    with helm.Chart.load(str(CHART)) as chart:
        yield chart


def rendered(chart: Any, values: dict[str, Any], name: str = "north") -> dict[str, Any]:
    """Every manifest by its kind."""
    chart.validate_schema(chart.merge_values(values))
    texts = chart.render(values, name=name, namespace="clinic").values()
    return {document["kind"]: document for text in texts if (document := yaml.safe_load(text))}


def pod(manifests: dict[str, Any]) -> dict[str, Any]:
    return manifests["StatefulSet"]["spec"]["template"]["spec"]


def test_values_that_make_no_node_are_refused(helm: Any, chart: Any) -> None:
    faults = {
        "'/member'": {"role": "curator"},
        "'/rows/claim'": {"member": "north"},
        "'/population/name'": {"member": "north", "rows": {"claim": "x"}, "population": {"totalEpsilon": 1}},
        "'/population/totalEpsilon'": {"member": "north", "rows": {"claim": "x"}, "population": {"name": "x"}},
        "'/population/totalDelta'": {**PARTY, "population": {**PEOPLE, "totalDelta": 1e-6}},
        "'/population/rowsPerPerson'": {**PARTY, "population": {**PEOPLE, "rowsPerPerson": 0}},
        "'total'": {**PARTY, "population": {**PEOPLE, "total": 1}},
        "'/role'": {"role": "operator", "member": "x"},
        "'keys'": {"role": "curator", "member": "x", "keys": "secret"},
        "'/storage/size'": {"role": "curator", "member": "x", "storage": {"size": "much"}},
        "'/image/digest'": {**CURATOR, "image": {"repository": "privity"}},
        "'/image/repository'": {**CURATOR, "image": {**IMAGE, "repository": f"privity@{DIGEST}"}},
        "'tag'": {**CURATOR, "image": {**IMAGE, "tag": "latest"}},
        "'/egress/curator/to'": {**PARTY, "egress": {}},
        "'/egress/also/0/to'": {**CURATOR, "egress": {"also": [{**DATABASE, "to": []}]}},
        "'/egress/also/0/ports'": {**CURATOR, "egress": {"also": [{**DATABASE, "ports": []}]}},
        "'/egress/curator/to/0'": {**PARTY, "egress": {"curator": {"to": [{}]}}},
        "'/resources/limits/memory'": {**CURATOR, "resources": {"limits": {"memory": "all"}}},
        "'/resources/limits/cpu'": {**CURATOR, "resources": {"limits": {"cpu": 0}}},
    }
    for place, values in faults.items():
        with pytest.raises(helm.HelmValuesError) as error:
            chart.validate_schema(chart.merge_values(values))
        assert place in str(error.value), values
    for total in (0, 0.5, "", "half", "1e-3", "-1"):
        with pytest.raises(helm.HelmValuesError, match="/population/totalEpsilon"):
            chart.validate_schema(chart.merge_values({**PARTY, "population": {**PEOPLE, "totalEpsilon": total}}))
    for name in (" x", "x ", "x\ny", ""):
        with pytest.raises(helm.HelmValuesError, match="/population/name"):
            chart.validate_schema(chart.merge_values({**PARTY, "population": {**PEOPLE, "name": name}}))


WITH_DATABASE = {**PARTY, "egress": {**DIALS, "also": [DATABASE]}}


@pytest.mark.parametrize("values", [PARTY, WITH_DATABASE, CURATOR], ids=["party", "with a database", "curator"])
def test_the_cluster_would_take_what_it_renders_to(chart: Any, values: dict[str, Any]) -> None:
    api = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed")
    manifests = rendered(chart, values)
    for document in manifests.values():
        api.validate(document, KUBERNETES, strict=True)
    broken = json.loads(json.dumps(manifests["StatefulSet"]))
    broken["spec"]["replica"] = 1
    with pytest.raises(api.ValidationError):
        api.validate(broken, KUBERNETES, strict=True)


def test_nobody_reaches_a_party_and_the_curator_has_one_port(chart: Any) -> None:
    party, curator = rendered(chart, PARTY), rendered(chart, CURATOR, "curator")
    assert set(party) == {"StatefulSet", "NetworkPolicy"}
    assert not party["NetworkPolicy"]["spec"]["ingress"]
    assert "ports" not in pod(party)["containers"][0]
    assert set(curator) == {"StatefulSet", "NetworkPolicy", "Service"}
    (port,) = curator["Service"]["spec"]["ports"]
    (listening,) = pod(curator)["containers"][0]["ports"]
    assert port["targetPort"] == listening["name"]
    assert curator["Service"]["spec"]["type"] == "LoadBalancer"
    labels = curator["StatefulSet"]["spec"]["template"]["metadata"]["labels"]
    assert curator["Service"]["spec"]["selector"].items() <= labels.items()


def reached(chart: Any, values: dict[str, Any]) -> list[tuple[Any, set[tuple[int, str]]]]:
    """(peers, ports) of each rule for what leaves the pod."""
    policy = rendered(chart, values)["NetworkPolicy"]["spec"]
    assert policy["policyTypes"] == ["Ingress", "Egress"], "what no rule names is cut off"
    assert all(rule["to"] and rule["ports"] for rule in policy["egress"]), "no peers would be all peers"
    return [
        (rule["to"], {(port["port"], port.get("protocol", "TCP")) for port in rule["ports"]})
        for rule in policy["egress"]
    ]


def test_a_party_reaches_dns_and_the_curator_and_the_curator_nobody(chart: Any) -> None:
    dns, curator = reached(chart, PARTY)
    ((peer,), ports) = dns
    assert peer["namespaceSelector"]["matchLabels"] == {"kubernetes.io/metadata.name": "kube-system"}
    assert peer["podSelector"]["matchLabels"] == {"k8s-app": "kube-dns"}, "DNS of the cluster, not of the world"
    assert ports == {(53, "UDP"), (53, "TCP")}
    assert curator == (DIALS["curator"]["to"], {(7443, "TCP")})
    assert reached(chart, CURATOR) == []


def test_a_proxy_or_a_database_or_another_dns_is_reached_if_the_values_say_so(chart: Any) -> None:
    database = (DATABASE["to"], {(5432, "TCP")})
    assert reached(chart, WITH_DATABASE) == [*reached(chart, PARTY), database]
    assert reached(chart, {**CURATOR, "egress": {"also": [DATABASE]}}) == [reached(chart, PARTY)[0], database]
    proxy = {"curator": {"to": [{"podSelector": {"matchLabels": {"app": "proxy"}}}], "port": 3128}, "dns": []}
    assert reached(chart, {**PARTY, "egress": proxy}) == [(proxy["curator"]["to"], {(3128, "TCP")})]


@pytest.mark.parametrize("values", [PARTY, CURATOR], ids=["party", "curator"])
def test_every_container_is_hardened(chart: Any, values: dict[str, Any]) -> None:
    manifests = rendered(chart, values)
    spec = pod(manifests)
    assert manifests["StatefulSet"]["spec"]["replicas"] == 1, "a node's folder is for one process"
    assert spec["automountServiceAccountToken"] is False
    assert spec["securityContext"]["runAsNonRoot"] is True
    for container in (*spec["initContainers"], *spec["containers"]):
        context = container["securityContext"]
        assert context["readOnlyRootFilesystem"] is True
        assert context["allowPrivilegeEscalation"] is False
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert set(container["resources"]["limits"]) == {"cpu", "memory"}
        assert container["image"] == f"registry.example/privity@{DIGEST}"
    (claim,) = manifests["StatefulSet"]["spec"]["volumeClaimTemplates"]
    assert {"name": claim["metadata"]["name"], "mountPath": "/node"} in spec["containers"][0]["volumeMounts"]
    command = spec["containers"][0]["command"] + spec["containers"][0]["args"]
    assert command == [f"privity-{values['role']}", "serve"]


def secret(folder: Path, place: Path) -> None:
    """What ``kubectl create secret --from-file=FOLDER --from-file=FOLDER/keys`` puts together: files, no folders."""
    place.mkdir()
    for file in (*folder.glob("*"), *folder.glob("keys/*")):
        if file.is_file():
            shutil.copy(file, place / file.name)


FIRST = {"party": ["lay", "declare"], "curator": ["lay"]}
"""The containers that run before the node's, in their order."""


def lay(chart: Any, values: dict[str, Any], tmp_path: Path, again: Callable[[Path], None] = lambda _node: None) -> Path:
    """Run the first containers' scripts, their volumes being folders here; twice, as after a restart.

    Args:
        again: what happens on the volume in between.
    """
    run = first_containers(chart, values, tmp_path)
    for time in range(2):
        if time:
            again(tmp_path / "node")
        done = run()
        assert done.returncode == 0, done.stderr
    return tmp_path / "node"


def first_containers(
    chart: Any, values: dict[str, Any], tmp_path: Path
) -> Callable[[], subprocess.CompletedProcess[str]]:
    """Make the volumes. What is given back runs the first containers, one after another until one fails."""
    containers = pod(rendered(chart, values))["initContainers"]
    assert [container["name"] for container in containers] == FIRST[values["role"]]
    places = {"/member": str(tmp_path / "member"), "/node": str(tmp_path / "node")}
    (tmp_path / "node").mkdir()
    entry_points(tmp_path / "bin")
    for file in (tmp_path / "member").iterdir():
        file.chmod(0o440)

    def here(text: str, mounted: list[str]) -> str:
        for place in mounted:
            text = text.replace(place, places[place])
        return text

    def run() -> subprocess.CompletedProcess[str]:
        for container in containers:
            assert container["command"] == ["sh", "-c"]
            mounted = [mount["mountPath"] for mount in container["volumeMounts"]]
            given: dict[str, str] = {}
            for variable in container.get("env", []):
                given[variable["name"]] = as_kubernetes_reads(here(variable["value"], mounted), given)
            (script,) = container["args"]
            command = ["sh", "-c", as_kubernetes_reads(here(script, mounted), given)]
            environment = {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}", **given}
            # Only this one runs as another user, who may not be able to start the Python of these tests.
            as_user = not_root(tmp_path) if (values["role"], container["name"]) == ("party", "lay") else {}
            done = subprocess.run(command, env=environment, capture_output=True, text=True, **as_user)
            if done.returncode:
                break
        return done

    return run


def as_kubernetes_reads(text: str, variables: dict[str, str]) -> str:
    """Of env and args: ``$(NAME)`` is a variable if there is one of that name, and ``$$`` is a dollar."""

    def read(found: re.Match[str]) -> str:
        return "$" if found[0] == "$$" else variables.get(found[1], found[0])

    return re.sub(r"\$\$|\$\(([^()]*)\)", read, text)


def not_root(folder: Path) -> dict[str, Any]:
    """Options for a process that may not overwrite what it may not write: its folder, and those above, opened to it."""
    if os.geteuid() != 0:
        return {}
    for place in (folder, *folder.parents):
        if stat.S_IMODE(place.stat().st_mode) & 0o011 == 0:
            place.chmod(stat.S_IMODE(place.stat().st_mode) | 0o011)
    for place in (folder, *folder.rglob("*")):
        os.chown(place, NOBODY, NOBODY)
    return {"user": NOBODY, "group": NOBODY, "extra_groups": [], "cwd": folder}


@pytest.mark.long
def test_renewed_keys_on_the_volume_stay_and_settings_are_the_secrets(
    chart: Any, founded: Path, tmp_path: Path
) -> None:
    def renewed(node: Path) -> None:
        for name in ("tls.key", "tls.pem", "keys/signing.pem", "join-north.json", "policy.toml"):
            (node / name).chmod(0o600)
            (node / name).write_text("renewed")

    secret(founded / "north", tmp_path / "member")
    node = lay(chart, PARTY, tmp_path, renewed)
    for name in ("tls.key", "tls.pem", "keys/signing.pem", "join-north.json"):
        assert (node / name).read_text() == "renewed", name
    assert (node / "policy.toml").read_bytes() == (founded / "north" / "policy.toml").read_bytes()


def ledger_of(node: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the node looks for its population's ledger."""
    monkeypatch.setenv("XDG_STATE_HOME", str(node / "state"))
    return default_ledger(name)


def test_node_and_first_container_and_commands_in_the_pod_find_one_ledger_on_the_volume(chart: Any) -> None:
    spec = pod(rendered(chart, PARTY))
    for container in (spec["initContainers"][1], spec["containers"][0]):
        variables = {variable["name"]: variable["value"] for variable in container["env"]}
        assert variables["XDG_STATE_HOME"] == "/node/state"
        assert {"name": "node", "mountPath": "/node"} in container["volumeMounts"]
    assert not [c for c in pod(rendered(chart, CURATOR, "curator"))["containers"] if "env" in c]


@pytest.mark.long
@pytest.mark.parametrize("name", [NORTH, """-- the "north's" $HOME $$ $(XDG_STATE_HOME) `id` \\ people, %"""])
def test_the_population_is_declared_once_and_a_total_that_was_changed_later_stays(
    chart: Any, founded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    declared = Population(name, Fraction(1, 2), Fraction(1, 10**6), 3)
    lower = replace(declared, total_epsilon=Fraction(1, 4))

    def changed(node: Path) -> None:
        with closing(open_ledger(name, ledger_of(node, name, monkeypatch))) as ledger:
            assert ledger.population == declared
            ledger.change(lower, declared)

    secret(founded / "north", tmp_path / "member")
    people = {"name": name, "totalEpsilon": "0.5", "totalDelta": "0.000001", "rowsPerPerson": 3}
    node = lay(chart, {**PARTY, "population": people}, tmp_path, changed)
    with closing(open_ledger(name, ledger_of(node, name, monkeypatch))) as ledger:
        assert ledger.population == lower
        assert ledger.end()[0] == 2, "one declaration, one change"


@pytest.mark.long
def test_a_ledger_that_cannot_be_used_is_not_replaced(
    chart: Any, founded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret(founded / "north", tmp_path / "member")
    run = first_containers(chart, PARTY, tmp_path)
    assert run().returncode == 0
    file = ledger_of(tmp_path / "node", NORTH, monkeypatch)
    damaged = b"x" * file.stat().st_size
    file.write_bytes(damaged)
    done = run()
    assert done.returncode != 0
    assert f"{file} cannot be used" in " ".join(done.stderr.split())
    assert file.read_bytes() == damaged


@pytest.mark.long
def test_a_party_finds_its_files_where_the_chart_lays_them(
    chart: Any, founded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret(founded / "north", tmp_path / "member")
    node = lay(chart, PARTY, tmp_path)
    for file in node.rglob("*"):
        assert stat.S_IMODE(file.stat().st_mode) & 0o077 == 0, f"{file.name} is for its owner only"
    shutil.copy(founded / "north.csv", tmp_path / "north.csv")
    assert load_config(node / "party.toml").name == "north"
    assert ledger_of(node, NORTH, monkeypatch).is_relative_to(node)
    shown = privity("doctor", "--config", node / "party.toml", "--json")
    amiss = {c["check"] for c in map(json.loads, shown.stdout.splitlines()) if c["verdict"] == "amiss"}
    assert amiss == {"connection"}, "there is no curator here"


@pytest.mark.long
def test_the_curator_finds_its_files_and_takes_newer_manifests_only(chart: Any, founded: Path, tmp_path: Path) -> None:
    secret(founded / "curator", tmp_path / "member")
    shutil.copy(founded / "organiser" / "manifest.json", tmp_path / "member")
    node = lay(chart, CURATOR, tmp_path)
    assert (node / "manifest.json").read_bytes() == (founded / "organiser" / "manifest.json").read_bytes()
    said = run_in(tmp_path, "curator", "accept", "member/manifest.json", "--config", "node/curator.toml")
    assert "it was here already" in said

"""The Helm chart, rendered by Helm's own code without a cluster, against the API's schemas; and its first container."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from party.config import load_config
from tests.harness.command import ROOT, privity, run_in
from tests.harness.founding import entry_points

CHART = ROOT / "deploy" / "helm" / "privity"
PARTY = {"role": "party", "member": "north", "rows": {"claim": "north-rows"}}
CURATOR = {"role": "curator", "member": "curator", "service": {"type": "LoadBalancer"}}
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
        "'/role'": {"role": "operator", "member": "x"},
        "'keys'": {"role": "curator", "member": "x", "keys": "secret"},
        "'/storage/size'": {"role": "curator", "member": "x", "storage": {"size": "much"}},
    }
    for place, values in faults.items():
        with pytest.raises(helm.HelmValuesError) as error:
            chart.validate_schema(chart.merge_values(values))
        assert place in str(error.value), values


@pytest.mark.parametrize("values", [PARTY, CURATOR], ids=["party", "curator"])
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


@pytest.mark.parametrize("values", [PARTY, CURATOR], ids=["party", "curator"])
def test_every_container_is_hardened(chart: Any, values: dict[str, Any]) -> None:
    manifests = rendered(chart, values)
    spec = pod(manifests)
    assert manifests["StatefulSet"]["spec"]["replicas"] == 1, "a ledger has one writer"
    assert spec["automountServiceAccountToken"] is False
    assert spec["securityContext"]["runAsNonRoot"] is True
    for container in (*spec["initContainers"], *spec["containers"]):
        context = container["securityContext"]
        assert context["readOnlyRootFilesystem"] is True
        assert context["allowPrivilegeEscalation"] is False
        assert context["capabilities"] == {"drop": ["ALL"]}
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


def lay(chart: Any, values: dict[str, Any], tmp_path: Path, again: Callable[[Path], None] = lambda _node: None) -> Path:
    """Run the first container's script, its two volumes being folders here; twice, as after a restart.

    Args:
        again: what happens on the volume in between.
    """
    container = pod(rendered(chart, values))["initContainers"][0]
    assert container["command"] == ["sh", "-c"]
    (script,) = container["args"]
    node = tmp_path / "node"
    node.mkdir()
    entry_points(tmp_path / "bin")
    environment = {**os.environ, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
    script = script.replace("/member", str(tmp_path / "member")).replace("/node", str(node))
    for file in (tmp_path / "member").iterdir():
        file.chmod(0o440)
    as_user = not_root(tmp_path) if values["role"] == "party" else {}
    for time in range(2):
        if time:
            again(node)
        done = subprocess.run(["sh", "-c", script], env=environment, capture_output=True, text=True, **as_user)
        assert done.returncode == 0, done.stderr
    return node


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


def test_a_party_finds_its_files_where_the_chart_lays_them(chart: Any, founded: Path, tmp_path: Path) -> None:
    secret(founded / "north", tmp_path / "member")
    node = lay(chart, PARTY, tmp_path)
    for file in node.rglob("*"):
        assert stat.S_IMODE(file.stat().st_mode) & 0o077 == 0, f"{file.name} is for its owner only"
    shutil.copy(founded / "north.csv", tmp_path / "north.csv")
    assert load_config(node / "party.toml").name == "north"
    shown = privity("doctor", "--config", node / "party.toml", "--json")
    amiss = {c["check"] for c in map(json.loads, shown.stdout.splitlines()) if c["verdict"] == "amiss"}
    assert amiss == {"connection"}, "there is no curator here"


def test_the_curator_finds_its_files_and_takes_newer_manifests_only(chart: Any, founded: Path, tmp_path: Path) -> None:
    secret(founded / "curator", tmp_path / "member")
    shutil.copy(founded / "organiser" / "manifest.json", tmp_path / "member")
    node = lay(chart, CURATOR, tmp_path)
    assert (node / "manifest.json").read_bytes() == (founded / "organiser" / "manifest.json").read_bytes()
    said = run_in(tmp_path, "curator", "accept", "member/manifest.json", "--config", "node/curator.toml")
    assert "it was here already" in said

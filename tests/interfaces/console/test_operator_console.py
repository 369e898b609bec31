"""The operator's pages by HTTP, over a real curator and parties: what the browser's walk does not meet."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path

import pytest

from privity.interfaces.console.operator_console import FORM, operator_site
from tests.harness.command import wait_until
from tests.harness.console import Visitor, visited
from tests.harness.founding import found
from tests.harness.walkthrough import PARTIES, Background, free_port

pytestmark = pytest.mark.process

ASKED = {**FORM, "algorithm": "one-way", "secure_sum": "masks", "epsilons": "0.1, 0.2"}


def plan(operator: Visitor, **fields: str) -> str:
    """The path of a plan that was made."""
    page = operator.post("/new/plan", {**ASKED, **fields})
    assert page.status == 303, page.text
    return page.headers["location"].partition(operator.place)[2]


def test_an_operator_plans_submits_stops_discards_and_fetches(tmp_path: Path) -> None:
    found(tmp_path, f"localhost:{free_port()}")
    for party in PARTIES:
        policy = tmp_path / party / "policy.toml"
        sums = 'minimum_parties = 3\nsecure_sums = ["paillier", "masks"]'
        policy.write_text(policy.read_text().replace("minimum_parties = 3", sums))
    north = tmp_path / "north" / "policy.toml"
    with Background(tmp_path) as nodes, visited(operator_site(tmp_path / "operator" / "operator.toml")) as operator:
        # Without a curator every page says so, and how to go on.
        assert "The curator cannot be asked" in operator.get("/").text
        for path in ("/runs", "/runs/autumn", "/new"):
            assert "localhost" in operator.get(path).text
        nodes.start("privity curator serve --config curator/curator.toml")
        wait_until(lambda: "the curator serves" in nodes.logs(), "the curator")
        assert operator.get("/").text.count("never heard of") == len(PARTIES)
        for party in PARTIES:
            nodes.start(f"privity party serve --config {party}/party.toml")
        wait_until(lambda: operator.get("/").text.count("never heard of") == 0, "the parties to be connected")

        page = operator.get("/").text
        assert page.count(version("privity")) == page.count("since ") == len(PARTIES)
        bad = {"epsilons": "x, 0.1", "rows": "-1", "tolerate": "9", "attributes": "nose", "name": "Not a name"}
        page = operator.post("/new/plan", {**ASKED, **bad})
        assert page.status == 400
        for text in bad.values():
            assert text in page.body.decode(), "nothing that was typed is lost"
        for words in ("x", "'-1'", "9 colluding parties", "nose", "'Not a name' is no name of a run"):
            assert words in page.text
        body = page.body.decode()
        for field in ("epsilons", "tolerate", "attributes", "rows", "name"):
            assert re.search(
                rf'id="{field}"[^>]*aria-describedby="hint-{field} wrong-{field}" aria-invalid="true"', body
            )
        assert re.search(r'id="epsilons"[^>]* autofocus', body)
        assert body.count(" autofocus") == 1
        page = operator.post("/new/plan", {**ASKED, "tolerate": "one"})
        assert "'one' is no whole number from 1 on. Give 1 or more." in page.text
        page = operator.post("/new/plan", {**ASKED, "algorithm": "aim", "analyses": "nobody ~ age; nose ~ age"})
        assert "'nobody' is unknown; 'nose ~ age': 'nose' is unknown" in page.text
        assert re.search(r'id="analyses"[^>]*aria-invalid="true"', page.body.decode())
        assert operator.post("/new/plan", {**ASKED, "algorithm": "<none>"}).status == 400
        assert operator.get("/new/plan/none").status == 400

        # A second click submits nothing again.
        place = plan(operator, name="autumn")
        assert "Expected error of pairs not known" in operator.get(place).text
        assert operator.post(f"{place}/submit", {"budget": "7"}).status == 400
        sent = [operator.post(f"{place}/submit", {"budget": "0"}).headers["location"] for _ in range(2)]
        assert sent[0] == sent[1]
        wait_until(lambda: "COMPLETED" in operator.get("/runs/autumn").text, "the run to complete")
        assert operator.get("/runs").text.count("one-way") == 1
        assert operator.get("/runs/autumn/files/report.html").status == 404
        assert operator.post("/runs/autumn/fetch").status == 303
        page = operator.get("/runs/autumn").body.decode()
        assert "report.html#estimates" in page
        assert "report.html#analyses" not in page
        report = operator.get("/runs/autumn/files/report.html")
        assert report.status == 200
        assert report.headers["content-security-policy"].startswith("sandbox;")
        assert (tmp_path / "operator" / "releases" / "autumn" / "synthetic.csv").exists()
        for path in ("/runs/%2e%2e/files/tls.key", "/runs/autumn/files/..%2f..%2ftls.key", "/runs/..%2f/files/tls.key"):
            assert operator.get(path).status in (400, 404)

        north.write_text(north.read_text().replace('approval = "by-policy"', 'approval = "manual"'))
        operator.post(f"{plan(operator, name='winter')}/submit", {"budget": "1"})
        wait_until(lambda: "the approval of its owner" in operator.get("/").text, "the run to wait")
        page = operator.get("/runs/winter").text
        assert re.search(r"north the approval of its owner \d+ \w+ 2\d{3}, \d\d:\d\d UTC At north: privity party", page)
        in_words = "2 of the 6 answers that enrolment needs are in."
        wait_until(lambda: in_words in operator.get("/runs/winter").text, "the other parties to answer")
        assert operator.post("/runs/winter/stop").status == 303
        assert "STOPPED" in operator.get("/runs/winter").text
        assert operator.post("/runs/winter/resume").status == 303
        page = operator.post("/runs/winter/discard")
        assert page.status == 400, "it is asked for twice"
        assert 'aria-describedby="wrong-sure" aria-invalid="true" autofocus' in page.body.decode()
        assert "data-live" not in page.body.decode(), "a script would send the form again"
        assert "data-live" in operator.get("/runs/winter").body.decode()
        assert operator.post("/runs/winter/discard", {"sure": "on"}).status == 303
        assert "DISCARDED" in operator.get("/runs/winter").text
        done = operator.get("/log").text
        for what in ("submitted a run", "stopped a run", "resumed a run", "discarded a run", "fetched a release"):
            assert what in done

"""Submit a run, and find out how it ended: what the command line and Python share."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from privity.assessment.planning.run_cost import about
from privity.common.consortium.manifest import Manifest
from privity.common.consortium.member_folder import SCHEMA
from privity.common.data.schema import load_schema
from privity.common.errors import Catalogue, PrivityError
from privity.common.protocol.evaluation_scores import evaluation_of
from privity.common.protocol.run_terms import AUTO
from privity.common.release.release_contents import LEARNT
from privity.common.release.synthetic_rows import check_release_size
from privity.common.runs.automatic_choice import LIKELY_ROWS, with_algorithm
from privity.common.runs.signed_request import sign_request
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.curator.submissions import check_word
from privity.deploy.operator.foreseen_refusals import Forecast, forecast_of
from privity.deploy.operator.operator_client import OperatorClient
from privity.deploy.operator.operator_folder import client_of, newest_manifest
from privity.deploy.operator.run_status import RunEvent

COMPLETED = "COMPLETED"


def with_concrete_algorithm(config: Path, request: dict[str, Any], held: Sequence[int] | None = None) -> dict[str, Any]:
    """The request with an algorithm for the consortium's table in the place of ``auto``, and why.

    Args:
        held: rows of each party. They say so when they enrol; until then they are taken to have likely numbers.

    Raises:
        PrivityError: bad-option: settings of no algorithm, no schema to choose by, or a release that is too large; no
            connection; run-too-large.
        ProblemsFound: bad settings.
    """
    schema = config.parent / SCHEMA
    over = about(load_schema(schema), request.get("attributes")) if schema.exists() else None
    if request.get("rows") and over is not None:
        check_release_size(request["rows"], over)
    if request["algorithm"] != AUTO:
        algorithm = ALGORITHMS.get(request["algorithm"])
        if over is not None and algorithm is not None:
            # All parties are counted at the curator, by its manifest.
            parties = len(request.get("parties") or ()) or 1
            evaluated = evaluation_of(request) is not None
            algorithm.check_size(request.get("settings", {}), over, parties, evaluated=evaluated)
        return request
    if over is None:
        raise PrivityError(
            Catalogue.BAD_OPTION, option="algorithm", reason=f"{schema} is missing, by which it is chosen",
            hint="Name the algorithm, or get the schema from the organiser: privity operator accept --schema FILE.",
        )  # fmt: skip
    if held is not None:
        return with_algorithm(request, over, held)
    rows = [LIKELY_ROWS] * len(newest_manifest(config).members_of_run(request.get("parties")))
    return with_algorithm(request, over, rows, f"; parties are taken to have {LIKELY_ROWS:,} rows each")


def foreseen_refusals(config: Path, request: dict[str, Any]) -> Forecast | None:
    """What parties would refuse the run by, as far as they publish it; None if the curator cannot be asked now."""
    try:
        return forecast_of(config, request)
    except PrivityError:
        # The submission tries again for a while, and says what is wrong.
        return None


def submit_run(config: Path, request: dict[str, Any], name: str | None = None, token: str | None = None) -> str:
    """Submit a run to the curator of this operator; what it is called.

    Args:
        name: what to call it; a new name is made up if left out.
        token: the same token again names the same run; the name if left out.

    Raises:
        PrivityError: no connection, or what the curator refused.
    """
    client = client_of(config)
    return submit_to(client, client.reached(partial(newest_manifest, config)), request, token or name, name or "")


def submit_to(
    client: OperatorClient, manifest: Manifest, request: dict[str, Any], token: str | None = None, name: str = ""
) -> str:
    """Sign a run request and submit it; every run is asked for here.

    Args:
        manifest: opened by the organiser's key: what is signed is for its consortium, schema and members.
        name, token: as in ``submit_run``.

    Raises:
        PrivityError: no connection, or what the curator refused.
    """
    run = name or f"run-{secrets.token_hex(6)}"
    check_word("name", run)
    signed = sign_request(request, run, manifest, client.certificate.read_bytes(), client.key.read_bytes())
    return client.submit(signed, secrets.token_hex(16) if token is None else token, name)


def fetch_learnt(client: OperatorClient, run: str, last: RunEvent, out: Path, *, signatures: bool = True) -> None:
    """Fetch what a run had learnt that ended before there were rows, and say so; nothing of any other run.

    Args:
        last: its last event.
        out, signatures: as of ``OperatorClient.fetch``.

    Raises:
        PrivityError: release-unfinished; as ``OperatorClient.fetch``.
    """
    if LEARNT in last.remedy:
        client.fetch(run, out, signatures=signatures)
        reason = f"the run is {last.state}: {last.reason}"
        raise PrivityError(Catalogue.RELEASE_UNFINISHED, file=out, reason=reason)


def check_completed(run: str, last: RunEvent) -> None:
    """Raise what ended the run, unless it completed.

    Args:
        last: its last event.

    Raises:
        PrivityError: run-failed.
    """
    if last.state != COMPLETED:
        nothing = "" if LEARNT in last.remedy else "Nothing was released. "
        hint = f"{nothing}{last.remedy}".strip()
        raise PrivityError(Catalogue.RUN_FAILED, run=run, state=last.state, reason=last.reason, hint=hint)

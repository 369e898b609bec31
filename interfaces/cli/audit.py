"""``privity audit``: worst-case neighbour tests of every mechanism and of whole protocol runs."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated

import typer

from privity.assessment.audit.auditor import Finding, audit
from privity.assessment.audit.catalogue import all_subjects, mechanisms
from privity.assessment.audit.findings import WIDE, as_document, as_markdown, as_table, samplers_as_table
from privity.assessment.audit.independence import judge
from privity.assessment.audit.samplers import samplers
from privity.assessment.audit.subject import Subject, system_source
from privity.common.errors import Catalogue, PrivityError
from privity.common.formats import require
from privity.common.storage.safe_files import write_text
from privity.common.text import terminal
from privity.common.text.terminal import say

INDEPENDENCE = "independence"


def audit_command(
    quick: Annotated[bool, typer.Option("--quick", help="fewer cases and samples; about three minutes")] = False,
    mechanism: Annotated[str | None, typer.Option(help="only this mechanism, such as 'secure sum'")] = None,
    json_out: Annotated[Path | None, typer.Option("--json", help="where to write the findings as JSON")] = None,
    markdown: Annotated[Path | None, typer.Option(help="where to write the findings as a markdown table")] = None,
) -> None:
    """Test each claimed epsilon against a 99.9 % lower confidence bound on the observed privacy loss.

    No rows of yours are read. Exit code 1 if a loss above its claim was shown.
    """
    known = [*mechanisms(), INDEPENDENCE]
    if mechanism is not None and mechanism not in known:
        raise PrivityError(
            Catalogue.BAD_OPTION,
            option="mechanism",
            reason=f"{mechanism!r} is unknown",
            hint=f"Use one of: {', '.join(known)}.",
        )
    subjects = [s for s in all_subjects() if mechanism in (None, s.mechanism) and (s.quick_runs or not quick)]
    start = time.monotonic()
    told = terminal.console(err=True)

    def progress(subject: Subject) -> None:
        told.print(f"{time.monotonic() - start:6.0f} s  {subject.mechanism}: {subject.name}")

    findings: list[Finding] = list(audit(subjects, quick=quick, progress=progress))
    judged = [judge(each, system_source) for each in samplers()] if mechanism in (None, INDEPENDENCE) else []
    title = "Privacy audit: claimed epsilon and what was observed (99.9 % lower bound)"
    if findings:
        terminal.console(width=WIDE).print(as_table(findings, title))
    if judged:
        terminal.console(width=WIDE).print(samplers_as_table(judged))
    if json_out is not None:
        document = as_document(findings, judged, quick)
        require(document, "audit", str(json_out))
        write_text(json.dumps(document, indent=2) + "\n", json_out)
    if markdown is not None:
        write_text(as_markdown(findings, judged), markdown)
    broken, dependent = [f for f in findings if not f.holds], [one for one in judged if not one.holds]
    if broken or dependent:
        say(f"{len(broken)} of {len(findings)} claims do NOT hold.")
        say(f"The samples of {len(dependent)} of {len(judged)} samplers are NOT independent.")
        raise typer.Exit(1)
    claims = [f"{len(findings)} claims"] if findings else []
    parts = [*claims, *([f"{len(judged)} samplers"] if judged else [])]
    say(f"None of {' and '.join(parts)} was contradicted, in {time.monotonic() - start:.0f} s.")

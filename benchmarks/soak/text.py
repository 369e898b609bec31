"""The page on soaks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import wrap

from benchmarks.markdown import table
from benchmarks.plots import Curves, draw
from benchmarks.soak.verdict import (
    CURATOR,
    HANDLES,
    JOURNAL_A_RUN,
    LEDGER_A_RUN,
    LOGS,
    MB,
    MEMORY,
    MEMORY_A_RUN,
    SLOWER,
    THREADS,
    Soaked,
    Step,
)

PICTURE = "soak/growth.svg"
WIDTH = 118
HEAD = f"""\
# Soak

A curator and its parties as processes of their own, over TLS and gRPC, with production stores; an operator keeps 20
runs queued. The runs are as small as they can be (three 1-way tables of 30 rows a party, summed under masks), so that
as many of them as possible pass: what a node keeps of a run shows in their number. One machine with two cores plays
everybody, with other work on it, so that seconds vary; the processors' seconds (**cpu**) vary less.

The first fifth of the runs is the warm-up. From there to the end

- a process may grow by {MEMORY / MB:.0f} MB, the curator by {MEMORY_A_RUN[CURATOR]:,} bytes a run besides,
  because it lists every run that it ever had;
- {HANDLES} handles and {THREADS} threads more may be open at the moment of a sample, for a call that is under way;
- a run may take {SLOWER:g} times the processors' time;

and over all runs

- a journal may grow by {JOURNAL_A_RUN:,} bytes a run, a ledger by {LEDGER_A_RUN:,} a run (of one charge):
  [data_model.md](../data_model.md) says what is kept for ever;
- when every run has ended, a journal holds marks and nothing else;
- write-ahead logs stay below {LOGS / MB:.0f} MB a node.

The command ends with 1 if any of it does not hold."""


def page(soaks: Sequence[tuple[str, Soaked]]) -> str:
    """One section for each soak, which has the command that made it."""
    lines = [HEAD]
    for command, soaked in soaks:
        lines += _section(command, soaked)
    return "\n".join(lines) + "\n"


def _section(command: str, soaked: Soaked) -> list[str]:
    raw, breaches = soaked.raw, soaked.breaches()
    ended = raw["completed"][-1]
    long = raw["minutes"] > 0
    title = f"{raw['minutes']:g} minutes" if long else f"{soaked.runs} queued runs"
    lines = ["", f"## {raw['parties']} parties, {title}", "", "```", command, "```", ""]
    said = (
        f"{soaked.runs:,} runs in {ended / 60:,.1f} minutes, {ended / soaked.runs:.2f} s a run; all completed. The"
        f" nodes were up after {raw['started']:.0f} s. The list of {raw['known']:,} runs took {raw['listed']:.2f} s;"
        f" a curator that is started again with them serves after {raw['restarted']:.1f} s."
    )
    lines += wrap(said, WIDTH)
    if long:
        lines += [
            "",
            *(["**Out of bounds:**", "", *(f"- {b}" for b in breaches)] if breaches else ["All bounds hold."]),
        ]
        lines += _growth(soaked.steps())
        lines += _kept(soaked)
        lines += ["", f"![Memory and journals over runs]({PICTURE})"]
    else:
        lines += _peaks(soaked)
    return lines


def _growth(steps: Sequence[Step]) -> list[str]:
    """Medians of tenths of the runs; of the parties the most."""
    head = ["runs", "minutes", "s a run", "cpu s a run"]
    for who in ("curator", "party"):
        head += [f"{who}: MB", "handles", "threads", "journal, MB"]
    rows = []
    for step in steps:
        row = [f"{step.runs:,}", f"{step.seconds / 60:.1f}", f"{step.seconds_a_run:.3f}", f"{step.cpu_a_run:.3f}"]
        for values in (step.nodes[CURATOR], _most(step.nodes)):
            row += [f"{values['rss'] / MB:.1f}", f"{values['handles']:.0f}", f"{values['threads']:.0f}"]
            row += [f"{values['journal'] / MB:.2f}"]
        rows.append(row)
    return ["", "Medians of each tenth of the runs; of the parties, the one that has most.", *table(head, rows)]


def _most(nodes: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    parties = [values for node, values in nodes.items() if node != CURATOR]
    return {name: max(values[name] for values in parties) for name in parties[0]}


def _kept(soaked: Soaked) -> list[str]:
    """What is on disk when everything has ended, a run."""
    rows = []
    for node in soaked.nodes:
        files = soaked.raw["kept_files"][node]
        kept = "; ".join(
            f"{name}: {size / soaked.runs:,.0f} in {n / soaked.runs:.0f}" for name, (n, size) in files.items()
        )
        marks = ", ".join(f"`{kind}` {number:,}" for kind, number in sorted(soaked.raw["entries"][node].items()))
        logs = max(sample.logs for sample in soaked.of(node)) / MB
        ledger = f"{soaked.a_run(node, 'ledger'):,.0f}" if node != CURATOR else ""
        rows.append([node, f"{soaked.a_run(node, 'journal'):,.0f}", ledger, kept, f"{logs:.2f}", marks])
    head = ["node", "journal, bytes a run", "ledger, bytes a run", "files, bytes a run", "largest logs, MB", "entries"]
    return ["", "Kept for ever, when every run has ended:", *table(head, rows)]


def _peaks(soaked: Soaked) -> list[str]:
    """The most of every node; of the parties from the least to the greatest."""
    rows = []
    parties = [node for node in soaked.nodes if node != CURATOR]
    for name, nodes in ((CURATOR, [CURATOR]), ("a party", parties)):
        most = {
            w: [max(getattr(s, w) for s in soaked.of(node)) for node in nodes] for w in ("rss", "handles", "threads")
        }
        cpu = [(soaked.of(node)[-1].cpu - soaked.of(node)[0].cpu) / soaked.runs for node in nodes]
        row = [name, _range([v / MB for v in most["rss"]], 0), _range(most["handles"]), _range(most["threads"])]
        rows.append([*row, _range(cpu, 2), _range([soaked.of(node)[-1].journal / 1000 for node in nodes])])
    return table(["node", "most MB", "most handles", "most threads", "cpu s a run", "journal, KB"], rows)


def _range(values: Sequence[float], digits: int = 0) -> str:
    low, high = f"{min(values):,.{digits}f}", f"{max(values):,.{digits}f}"
    return low if low == high else f"{low} to {high}"


def picture(soaked: Soaked, folder: Path) -> None:
    """Memory and journals over runs."""
    limit = float(soaked.runs)

    def curves(title: str, label: str, what: str) -> Curves:
        lines = {
            node: ([s.runs for s in soaked.of(node)], [getattr(s, what) / MB for s in soaked.of(node)])
            for node in soaked.nodes
        }
        return Curves(title, "runs", label, lines, limit)

    draw([curves("resident memory", "MB", "rss"), curves("journal", "MB", "journal")], folder / PICTURE)

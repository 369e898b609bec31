"""Runs without end over real nodes: what grows, and what must not (bounds: benchmarks/methods/soak_bounds.py)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from benchmarks.data import Data
from benchmarks.experiment import Experiment, Picture, Point, Record, Text, Values, markdown
from benchmarks.methods.soak_bounds import CURATOR, MB, Soaked
from benchmarks.methods.soak_work import Soak, soak
from benchmarks.plots import Panel


def measure(point: Point, _seed: int, _data: Data) -> Values:
    return {"soaked": soak(Soak(point["parties"], point["runs"], point["minutes"], point["every"]))}


def points(quick: bool) -> list[Point]:
    if quick:
        return [{"parties": 2, "minutes": 0, "runs": 3, "every": 1}]
    return [
        {"parties": 3, "minutes": 60, "runs": 20, "every": 5},
        {"parties": 50, "minutes": 0, "runs": 20, "every": 5},
    ]


def each(make: Callable[[Soaked], list[str]], *, long: bool) -> Callable[[Sequence[Record]], list[str]]:
    """A block of the soaks that went on for some time, or of those that ended with the queued runs."""

    def lines(records: Sequence[Record]) -> list[str]:
        found = [make(Soaked(record["soaked"])) for record in records if (record["minutes"] > 0) == long]
        return [line for block in found for line in block]

    return lines


def told(soaked: Soaked) -> list[str]:
    raw, ended = soaked.raw, soaked.raw["completed"][-1]
    return [
        f"{raw['parties']} parties: {soaked.runs:,} runs in {ended / 60:,.1f} minutes, {ended / soaked.runs:.2f} s a"
        f" run; all completed. The nodes were up after {raw['started']:.0f} s.",
        f"The list of {raw['known']:,} runs took {raw['listed']:.2f} s; a curator that is started again with them"
        f" serves after {raw['restarted']:.1f} s.",
        *(["", *(f"- out of bounds: {bound}" for bound in soaked.breaches())] if raw["minutes"] else []),
    ]


def growth(soaked: Soaked) -> list[str]:
    """Medians of tenths of the runs; of the parties the most."""
    head = ["runs", "minutes", "s a run", "cpu s a run"]
    for who in ("curator", "party"):
        head += [f"{who}: MB", "handles", "threads", "journal, MB"]
    rows = []
    for step in soaked.steps():
        row = [f"{step.runs:,}", f"{step.seconds / 60:.1f}", f"{step.seconds_a_run:.3f}", f"{step.cpu_a_run:.3f}"]
        for values in (step.nodes[CURATOR], most(step.nodes)):
            row += [f"{values['rss'] / MB:.1f}", f"{values['handles']:.0f}", f"{values['threads']:.0f}"]
            row += [f"{values['journal'] / MB:.2f}"]
        rows.append(row)
    return markdown(head, rows)


def most(nodes: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    parties = [values for node, values in nodes.items() if node != CURATOR]
    return {name: max(values[name] for values in parties) for name in parties[0]}


def kept(soaked: Soaked) -> list[str]:
    """What is on disk when everything has ended, a run."""
    rows = []
    for node in soaked.nodes:
        files = soaked.raw["kept_files"][node].items()
        of_files = "; ".join(f"{name}: {size / soaked.runs:,.0f} in {n / soaked.runs:.0f}" for name, (n, size) in files)
        marks = ", ".join(f"`{kind}` {number:,}" for kind, number in sorted(soaked.raw["entries"][node].items()))
        logs = max(sample.logs for sample in soaked.of(node)) / MB
        ledger = f"{soaked.a_run(node, 'ledger'):,.0f}" if node != CURATOR else ""
        rows.append([node, f"{soaked.a_run(node, 'journal'):,.0f}", ledger, of_files, f"{logs:.2f}", marks])
    head = ["node", "journal, bytes a run", "ledger, bytes a run", "files, bytes a run", "largest logs, MB", "entries"]
    return markdown(head, rows)


def peaks(soaked: Soaked) -> list[str]:
    """The most of every node; of the parties from the least to the greatest."""
    rows = []
    parties = [node for node in soaked.nodes if node != CURATOR]
    for name, nodes in ((CURATOR, [CURATOR]), ("a party", parties)):
        samples = [soaked.of(node) for node in nodes]
        cpu = [(some[-1].cpu - some[0].cpu) / soaked.runs for some in samples]
        row = [name, span([max(s.rss for s in some) / MB for some in samples])]
        row += [span([max(getattr(s, what) for s in some) for some in samples]) for what in ("handles", "threads")]
        rows.append([*row, span(cpu, 2), span([some[-1].journal / 1000 for some in samples])])
    return markdown(["node", "most MB", "most handles", "most threads", "cpu s a run", "journal, KB"], rows)


def span(values: Sequence[float], digits: int = 0) -> str:
    low, high = f"{min(values):,.{digits}f}", f"{max(values):,.{digits}f}"
    return low if low == high else f"{low} to {high}"


def panel(title: str, what: str, records: Sequence[Record]) -> Panel:
    """Megabytes of every node over runs, of the first soak."""
    if not records:
        return Panel(title, "runs", "MB", {})
    soaked = Soaked(records[0]["soaked"])
    lines = {node: {float(s.runs): [getattr(s, what) / MB] for s in soaked.of(node)} for node in soaked.nodes}
    return Panel(title, "runs", "MB", lines, smooth=True, x_limit=float(soaked.runs))


def broken(records: Sequence[Record]) -> list[str]:
    """Twenty runs are too few to tell growth from a start: a soak of some minutes is judged only."""
    return [bound for record in records if record["minutes"] for bound in Soaked(record["soaked"]).breaches()]


EXPERIMENT = Experiment(
    title="Soak: an hour of runs over real nodes, and what grows",
    points=points,
    measure=measure,
    shows=(
        Text("a long soak", each(told, long=True)),
        Text("growth by tenths of the runs", each(growth, long=True)),
        Text("kept for ever", each(kept, long=True)),
        Text("queued runs", each(told, long=False)),
        Text("peaks with queued runs", each(peaks, long=False)),
    ),
    pictures=(
        Picture("growth", [partial(panel, "resident memory", "rss"), partial(panel, "journal", "journal")]),
    ),
    code=("common", "party", "curator", "benchmarks/methods/soak_work.py"),
    alone=lambda _: True,
    broken=broken,
)  # fmt: skip

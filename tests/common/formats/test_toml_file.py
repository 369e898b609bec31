"""Settings that are written wrongly: the fault is told with its line, and a password in it is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from privity.common.errors import PrivityError
from privity.common.formats.toml_file import read_toml

URL = '"http://ward:JXZ@proxy:3128"'
LINES = [
    "format_version = 1",
    'curator = "localhost:1"',
    'certificate = "a"',
    'key = "b"',
    'manifest = "c"\norganiser_key = "d"',
]


@pytest.mark.parametrize(
    "wrong",
    [
        f"proxy = [{URL}]",
        f"proxi = {URL}",
        f"proxy = {URL[:-1]}",
        f"proxy = {URL[1:-1]}",
        f"{URL} = 1",
        f"{URL} = nan",
        f"{URL} = 1\n{URL} = 2",
        f"[{URL}]\n[{URL}]",
        f"[{URL}.deeper]",
        f"[proxy]\nurl = {URL}",
        '"postgresql://ward%3AJXZ@host/clinic" = 1',
        '"host=h user=u pass=JXZ" = 1',
        '"duckdb:///c.duckdb?apikey=JXZ#t" = 1',
    ],
)
def test_no_fault_of_settings_repeats_a_password(wrong: str, tmp_path: Path) -> None:
    file = tmp_path / "operator.toml"
    file.write_text("\n".join([*LINES, wrong, ""]))
    with pytest.raises(PrivityError) as refused:
        read_toml(file, "operator")
    told = str(refused.value) + repr(refused.value)
    assert "JXZ" not in told
    assert any(place in told for place in ("line 7", "line 8", f"{file}:7", f"{file}:8"))


@pytest.mark.parametrize("value", [URL, '"ward:JXZ@host"', '"http://ward%3AJXZ@proxy"', '"host=h password=JXZ"'])
def test_a_proxy_in_the_place_of_the_curator_is_told_without_its_password(value: str, tmp_path: Path) -> None:
    file = tmp_path / "operator.toml"
    file.write_text("\n".join([LINES[0], f"curator = {value}", *LINES[2:], ""]))
    with pytest.raises(PrivityError, match=r"operator.toml:2: curator: .* does not have the form host:port") as refused:
        read_toml(file, "operator")
    assert "JXZ" not in str(refused.value)

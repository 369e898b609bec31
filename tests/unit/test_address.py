"""Addresses of rows: what they name, and that no message repeats a password, however wrongly it is written."""

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from common.errors import PrivityError
from party.sources.address import Form, parse_address
from party.sources.settings import RowSettings

HIDDEN = "JXZ"
"""Letters that occur in passwords and nowhere else."""

passwords = st.text(alphabet=HIDDEN + "1:/?#@[]%&= ;.'\"\\\n", min_size=1, max_size=8).map(lambda text: f"J{text}Z")
forms = st.sampled_from(
    [
        "postgresql://ward:{}@host/clinic#visits",
        "postgresql://ward:{}@host:5432/clinic?sslmode=require#ward.visits",
        "postgresql://ward:{}@[::1]:5432/clinic#visits",
        "postgresql://ward:{}@[::1/clinic#visits",
        "postgresql://ward:{}@one:1,two:2/clinic#visits",
        "postgresql://:{}@host/clinic#visits",
        "postgresql://host/clinic?user=ward&password={}#visits",
        "postgresql://host?password={}#visits",
        "postgresql:///clinic?password={}#visits",
        "postgresql://ward:{}@host/clinic",
        "POSTGRES://ward:{}@ho st/clinic#visits",
        "mysql://ward:{}@host\u2100/clinic#visits",
        "snowflake://ward:{}@account/clinic/ward?warehouse=w&token={}#visits",
        "pyspark://#s3a://key:{}@bucket/visits.parquet",
        "postgresql:/ward:{}@host/clinic#visits",
        "postgresql:ward:{}@host/clinic",
        " postgresql://ward:{}@host/clinic#visits",
        "host=db user=ward password={} dbname=clinic",
        "host=db PASSWORD = '{}'",
        "ward:{}@host/clinic#visits",
    ]
)


@given(forms, passwords, st.booleans())
@example("postgresql://ward:{}@host/clinic#visits", "J#Z", False)
@example("postgresql://ward:{}@host/clinic#visits", "J/Z", False)
@example("postgresql://ward:{}@host/clinic#visits", "1/Z@J#", False)
@example("postgresql://host?password={}#visits", "J@Z", False)
def test_no_message_repeats_a_password(form: str, password: str, encoded: bool) -> None:
    if encoded:
        password = "".join(f"%{byte:02X}" for byte in password.encode())
        hidden = [password, password[:6], password[-6:]]
    else:
        hidden = list(HIDDEN)
    text = form.format(password, password)
    try:
        address = parse_address(text, Path("/nowhere"))
    except PrivityError as error:
        shown = [str(error), repr(error)]
    else:
        shown = [address.name, repr(address), str(address)]
    shown.append(repr(RowSettings(text, Path("/nowhere"))))
    assert not [part for part in hidden for some in shown if part in some]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("postgresql://ward:secret@host:5432/clinic?sslmode=require#ward.visits",
         "postgresql://ward@host:5432/clinic#ward.visits"),
        ("postgresql:///clinic#visits", "postgresql:///clinic#visits"),
        ("postgresql://one:1,two:2/clinic#visits", "postgresql://one:1,two:2/clinic#visits"),
        ("postgresql://[::1]:5432/clinic#visits", "postgresql://[::1]:5432/clinic#visits"),
        ("pyspark://#/lake/part#1/*.parquet", "pyspark://#/lake/part#1/*.parquet"),
        ("sqlite:///clinic.db#visits", "sqlite:///clinic.db#visits"),
        ("postgresql://ward:a#b@host/clinic#visits", "postgresql://ward@host/clinic#visits"),
        ("postgresql://ward:a/b@host/clinic#visits", "postgresql://..."),
    ],
)  # fmt: skip
def test_what_is_shown_of_a_url(text: str, name: str) -> None:
    assert parse_address(text).name == name


def test_the_url_goes_to_its_store_as_it_is_written() -> None:
    address = parse_address("postgresql://ward:a#b%40@host/clinic?sslmode=require#visits")
    assert address.url == "postgresql://ward:a#b%40@host/clinic?sslmode=require"
    assert (address.form, address.table) == (Form.POSTGRESQL, "visits")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nothing.csv", "nothing.csv: no such file"),
        ("*.parquet", "no such file"),
        ("postgresql://host/clinic", "it names no table"),
        ("duckdb:///nothing.duckdb#t", "no such file"),
        ("clinic.duckdb", "it names no table"),
        ("mixed", "its files are of different kinds"),
    ],
)
def test_what_is_no_address_is_refused_with_what_to_write(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "mixed").mkdir()
    (tmp_path / "mixed" / "a.csv").touch()
    (tmp_path / "mixed" / "b.parquet").touch()
    with pytest.raises(PrivityError, match=said) as found:
        parse_address(text, tmp_path)
    assert found.value.remedy


def test_what_is_not_yet_whole_is_no_part_of_a_folder(tmp_path: Path) -> None:
    for name in ("a.parquet", "deeper/b.parquet", "_temporary/0/c.parquet", ".d.parquet", "_e.parquet", "f.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    found = parse_address(str(tmp_path)).files
    assert [str(file.relative_to(tmp_path)) for file in found] == ["a.parquet", "deeper/b.parquet"]

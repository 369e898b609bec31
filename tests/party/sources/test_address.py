"""Addresses of rows: what they name, and that no message repeats a password, however wrongly it is written."""

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from privity.common.errors import PrivityError
from privity.party.sources.address import Form, parse_address, refuse_password
from privity.party.sources.source_settings import RowSettings

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
        "postgresql://ward%3A{}@host/clinic#visits",
        "host=db user=ward pass={}",
        "duckdb:///clinic.duckdb?apikey={}#visits",
        "snowflake://ward@account/clinic?api_key={}#visits",
        "pyspark://w?spark.hadoop.fs.s3a.secret.key={}#s3a://lake/visits.parquet",
        "s3://key:{}@lake/visits.parquet",
        "s3://lake/visits.parquet?secret_access_key={}",
        "S3://lake/visits.parquet?endpoint=https://key:{}@host:9000",
        "s3://lake/visits.parquet?X-Amz-Credential={}&X-Amz-Signature={}",
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


@given(forms, passwords)
def test_an_address_with_a_password_is_refused_on_a_command_line(form: str, password: str) -> None:
    with pytest.raises(PrivityError, match="holds a password") as refused:
        refuse_password(form.format(password, password))
    assert not [letter for letter in HIDDEN if letter in str(refused.value)]


WORDS = ["pass", "secret", "token", "key", "credential", "jwt", "sas", "pwd"]
letters = st.text(alphabet="abcXYZ_.-", max_size=4)


@given(
    st.sampled_from(["postgresql://h/db?{}=JXZ#t", "snowflake://u@a/db?role=r&{}=JXZ#t", "host=h {} = JXZ"]),
    st.tuples(letters, st.sampled_from(WORDS), letters),
    st.booleans(),
    st.sets(st.integers(0, 12)),
)
def test_a_parameter_whose_name_holds_a_secretive_word_is_refused_and_never_shown(
    form: str, parts: tuple[str, str, str], upper: bool, encoded: set[int]
) -> None:
    name = "".join(parts).upper() if upper else "".join(parts)
    written = "".join(f"%{ord(sign):02x}" if place in encoded else sign for place, sign in enumerate(name))
    text = form.format(written)
    with pytest.raises(PrivityError, match="holds a password"):
        refuse_password(text)
    with pytest.raises(PrivityError) as refused:
        parse_address(text.replace("#t", ""))
    assert "JXZ" not in str(refused.value)


@pytest.mark.parametrize(
    "text",
    [
        "pyspark://w?spark.hadoop.fs.s3a.secret.key=JXZ#s3a://lake/visits.parquet",
        "pyspark://?spark.hadoop.fs.azure.account.k%65y.a.dfs.core.windows.net=JXZ#visits",
        "pyspark://w?spark.driver.extraJavaOptions=-Dstore.password%3DJXZ#visits",
        "PySpark://#s3a://key:JXZ@lake/visits.parquet",
        "pyspark://#s3a://JXZ@lake/visits.parquet",
    ],
)
def test_a_secret_is_refused_in_an_address_of_spark_whose_process_would_show_it(text: str) -> None:
    with pytest.raises(PrivityError, match="it holds a secret, and Spark") as refused:
        parse_address(text)
    assert "spark-defaults.conf" in refused.value.remedy
    assert "JXZ" not in str(refused.value)


@pytest.mark.parametrize(
    "text",
    ["s3://key:JXZ@lake/t.parquet", "s3://JXZ@lake/t.parquet", "S3://lake/t.parquet?aws_secret=JXZ", "s3://lake?JXZ=1"],
)
def test_keys_of_an_object_store_are_taken_from_nowhere_but_their_own_places(text: str) -> None:
    with pytest.raises(PrivityError) as refused:
        parse_address(text)
    assert refused.value.remedy
    assert "JXZ" not in str(refused.value)


@pytest.mark.parametrize(
    "text",
    [
        "pyspark://w?spark.master=local&spark.hadoop.hadoop.security.credential.provider.path=jceks%3A//f#visits",
        "pyspark://w?spark.hadoop.fs.s3a.aws.credentials.provider=org.example.Provider#s3a://lake/key=5/*.parquet",
        "pyspark://#abfss://clinic@account.dfs.core.windows.net/visits.parquet",
    ],
)
def test_settings_of_spark_that_say_where_a_secret_is_are_taken(text: str) -> None:
    assert parse_address(text).form is Form.IBIS


@pytest.mark.parametrize("name", ["password", "sslpassword", "pass%77ord", "PWD", "motherduck_token", "client_secret"])
def test_a_password_among_the_parameters_is_refused_on_a_command_line(name: str) -> None:
    with pytest.raises(PrivityError, match="holds a password"):
        refuse_password(f"postgresql://host/clinic?{name}=JXZ#visits")


@pytest.mark.parametrize(
    "text",
    [
        None,
        "visits.csv",
        "passwords/visits@noon.csv.gz",
        "parts/**/*.parquet",
        "duckdb:///srv/clinic.duckdb#ward.visits",
        "postgresql://reader@host:5432/clinic?sslmode=verify-full&passfile=/run/pgpass#ward.visits",
        "postgresql://reader%40cloud@one:1,two:2/passwords#tokens",
        "postgresql://[::1]:5432/clinic#visits",
        "postgresql:///?service=clinic#visits",
        "postgresql://[::1]:5432/clinic?user=a%40b&sslkey=/run/ward.key#visits",
        "snowflake://ward@account/clinic?private_key_path=/run/ward.p8#visits",
        "parts/patient_key=5/*.parquet",
        "pyspark://#s3a://lake/visits@noon/*.parquet",
        "s3://lake/patient_key=5/visits@noon/*.parquet?endpoint=https://objects.clinic:9000&region=eu-central-1",
    ],
)
def test_an_address_without_a_password_is_taken(text: str | None) -> None:
    assert refuse_password(text) == text


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
        ("s3://lake/visits/?region=north", "s3://lake/visits/"),
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
        ("s3://lake/visits.csv.gz", "only Parquet files are read"),
        ("s3://lake/visits.feather", "only Parquet files are read"),
        ("s3://lake/clinic.duckdb#visits", "a database is read from a file of this machine"),
        ("s3://lake/**/*.parquet", "it names no bucket and path"),
        ("s3:///visits.parquet", "it names no bucket and path"),
        ("s3://lake/visits.parquet?anonymous=1", "a parameter that is none of endpoint, region"),
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

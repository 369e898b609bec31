"""Rows in a declared dialect: what was written is what is read, and a row that does not fit changes no other."""

from collections import Counter
from fractions import Fraction

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.data.csv_reading import csv_batches
from privity.common.data.dialect import COMMON, Dialect, NumberMarks, dialect_problems
from privity.common.data.schema import parse_schema
from privity.common.data.table_reading import encode, read_table
from privity.common.errors import ProblemsFound, RowProblemsFound

SIGNS = [",", ";", "\t", "|", "'", '"', "\\", " ", "~", "é"]
CELLS = st.text(st.sampled_from([*"ab1.-", *SIGNS, "\n", "\r", "ü", "€"]), max_size=6)


@st.composite
def dialects(draw):
    delimiter, quote, escape = draw(st.permutations(SIGNS))[:3]
    quote, escape = draw(st.sampled_from([(quote, ""), (quote, escape), ("", escape)]))
    spaced = draw(st.booleans()) and " " not in (delimiter, quote, escape)
    encoding = draw(st.sampled_from(["utf-8", "cp1252", "utf-16", "utf-16-le"]))
    return Dialect(delimiter, quote, escape, spaced, draw(st.booleans()), draw(st.integers(0, 2)), encoding=encoding)


def written(rows, dialect, line_end="\n"):
    """Rows in a dialect, as bytes, by its rules alone."""

    def cell(text):
        special = {dialect.delimiter, dialect.quote, dialect.escape, "\n", "\r"} - {""}
        if dialect.escape:
            text = "".join(dialect.escape + sign if sign in special | {" "} else sign for sign in text)
        elif dialect.quote:
            text = text.replace(dialect.quote, dialect.quote * 2)
        return f"{dialect.quote}{text}{dialect.quote}" if dialect.quote else text

    between = dialect.delimiter + (" " if dialect.skip_initial_space else "")
    lines = [f"title {place}" for place in range(dialect.skip_rows)] + [between.join(map(cell, row)) for row in rows]
    return "".join(line + line_end for line in lines).encode(dialect.encoding)


@given(dialect=dialects(), rows=st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=8), end=st.sampled_from("\r\n"))
def test_what_was_written_in_a_dialect_is_read(tmp_path_factory, dialect, rows, end):
    path = tmp_path_factory.mktemp("dialect") / "t.csv"
    path.write_bytes(written([("x", "y"), *rows] if dialect.header else rows, dialect, end))
    found = [row for batch in csv_batches(path, dialect, ("x", "y")) for row in zip(*batch.columns, strict=True)]
    assert found == rows
    texts = sorted({cell for cell, _ in rows if not set(cell) & {"\n", "\r", "\t"}})
    field = {"type": "string", "categories": [*texts, "rest", "more"], "outOfDomain": "other", "other": "rest"}
    fields = [{"name": "x", **field}, {**field, "name": "y"}]
    schema = parse_schema({"dialect": dialect.document(), "fields": fields}, "s")
    assert parse_schema(schema.table_schema(), "s") == schema
    frame = pd.DataFrame(rows, columns=["x", "y"], dtype=object)
    for left, right in zip(read_table(path, schema).columns, encode(frame, schema, "t").columns, strict=True):
        assert left.tolist() == right.tolist()


UNITS = st.sampled_from(["$", "kg ", "Rs. "])
MARKS = st.builds(NumberMarks, st.sampled_from(".,"), st.sampled_from(["", "'", " ", "\u00a0"]), st.booleans())


@given(
    number=st.integers(-(10**9), 10**9),
    places=st.integers(0, 4),
    marks=MARKS,
    unit=st.sampled_from(["$", "kg ", "Rs. "]),
)
def test_a_number_that_is_written_with_marks_is_read(number, places, marks, unit):
    whole, digits = divmod(abs(number), 10**places)
    text = f"{whole:,}".replace(",", marks.group) + (f"{marks.decimal}{digits:0{places}d}" if places else "")
    sign = "-" if number < 0 else ""
    assert Fraction(marks.plain(sign + text)) == Fraction(number, 10**places)
    with_unit = marks.plain(f"({unit}{text})" if number < 0 else unit + text)
    assert with_unit is None if marks.bare else Fraction(with_unit) == Fraction(number, 10**places)


@given(st.text(st.sampled_from("0123456789.,'+-eE"), max_size=12))
def test_a_text_is_a_number_only_as_it_is_written(text):
    for marks in (NumberMarks(), NumberMarks(","), NumberMarks(",", "."), NumberMarks(".", ",")):
        plain = marks.plain(text)
        if plain is not None:
            ungrouped = text.replace(marks.group, "") if marks.group else text
            assert Fraction(plain) == Fraction(ungrouped.replace(marks.decimal, "."))
            assert not marks.group or marks.group not in text or text.count(marks.decimal) <= 1


@pytest.mark.parametrize(
    "text", ["1,5", "12.50", "1.2.3", "", "5-", "<5", "1 2", "Rs.500", "(-5)", "+-5", "5 of 10", "9" * 500]
)
def test_what_is_no_number_with_its_marks(text):
    assert NumberMarks(",", ".", bare=False).plain(text) is None or text == "1,5"
    assert NumberMarks(".", ",").plain(text) is None or text == "12.50"


FIELDS = [
    {"name": "ward", "type": "string", "categories": ["süd", "nord"], "missingValues": [""]},
    {"name": "cost", "type": "number", "edges": [0, 10, 20], "decimals": 1, "missingValues": ["", "k.A."]},
]
LINES = [
    b"s\xfcd;9,5",
    b"nord;",
    b"s\xfcd",
    b"nord;5,0;x",
    b"",
    b"\x81;1,0",
    b"s\xfcd;k.A.",
    b"nord;12",
    b";",
    b"west;1",
]


@pytest.mark.parametrize("keys", [{}, {"badRows": "missing"}, {"badRows": "missing", "skipBlankRows": True}])
def test_a_row_that_does_not_fit_is_handled_alone(tmp_path, keys):
    dialect = {"delimiter": ";", "encoding": "cp1252", "decimalChar": ",", **keys}
    schema = parse_schema({"dialect": dialect, "fields": FIELDS}, "s")

    def coded(lines):
        (tmp_path / "t.csv").write_bytes(b"\n".join([b"ward;cost", *lines, b""]))
        try:
            columns = read_table(tmp_path / "t.csv", schema).columns
        except RowProblemsFound as refused:
            return None if {each.rule for each in refused.problems} != {"no-rows"} else Counter()
        return Counter(zip(*(column.tolist() for column in columns), strict=True))

    alone = {line: coded([line]) for line in LINES}
    for last in LINES:
        for lines in ([last, *LINES[:2]], [*LINES[:2], last], [LINES[6], last, last]):
            parts = [alone[line] for line in lines]
            assert coded(lines) == (None if None in parts else sum(parts, Counter()))
    read = [line for line in LINES if alone[line] is not None]
    forgiven = [] if not keys else [b"s\xfcd", b"nord;5,0;x", b"", b"\x81;1,0"]
    assert set(read) == {b"s\xfcd;9,5", b"nord;", b"s\xfcd;k.A.", b"nord;12", b";", *forgiven}


def test_a_quote_that_is_not_closed_is_refused_whatever_is_declared(tmp_path):
    (tmp_path / "t.csv").write_text('a\n"x\ny\n')
    with pytest.raises(RowProblemsFound, match=r"line 2.*never closed"):
        list(csv_batches(tmp_path / "t.csv", COMMON.changed({"badRows": "missing"})))


@pytest.mark.parametrize(
    ("dialect", "rule"),
    [
        ({"delimiter": ";;"}, "pattern"), ({"delimiter": "\n"}, "pattern"), ({"quoteChar": ","}, "same-character"),
        ({"escapeChar": '"'}, "same-character"), ({"encoding": "utf-7"}, "encoding"), ({"encoding": "x"}, "encoding"),
        ({"decimalChar": "1"}, "pattern"), ({"groupChar": "."}, "same-character"), ({"header": "no"}, "type"),
        ({"lineTerminator": "\n"}, "additionalProperties"),
        ({"delimiter": " ", "skipInitialSpace": True}, "same-character"),
    ],
)  # fmt: skip
def test_what_a_dialect_cannot_be_is_said(dialect, rule):
    assert [problem.rule for problem in dialect_problems(dialect, "s.json")] == [rule]
    with pytest.raises(ProblemsFound, match="dialect"):
        parse_schema({"dialect": dialect, "fields": FIELDS}, "s.json")


def test_marks_of_a_field_and_of_the_party_come_before_those_of_the_schema():
    own = {"decimalChar": ".", "groupChar": "'"}
    fields = [{**FIELDS[1], "name": "own", **own}, {**FIELDS[1], "decimalChar": "."}, {**FIELDS[1], "name": "not"}]
    schema = parse_schema({"dialect": {"decimalChar": ",", "groupChar": "."}, "fields": fields}, "s")
    assert schema.marks == (NumberMarks(".", "'"), NumberMarks("."), NumberMarks(",", "."))
    assert set(schema.in_dialect({"decimalChar": "#", "groupChar": " "}).marks) == {NumberMarks("#", " ")}
    plain = parse_schema({"fields": [{**FIELDS[1], "name": name} for name in ("own", "cost", "not")]}, "s")
    assert schema.digest == plain.digest
    assert schema.released == plain
    with pytest.raises(ProblemsFound, match="same-character"):
        parse_schema({"dialect": {"decimalChar": ","}, "fields": [{**FIELDS[1], "groupChar": ","}]}, "s")


NUMBER = {"name": "x", "type": "number", "edges": [0, 1, 10000]}
TEXT = {"name": "x", "type": "string", "categories": ["a", "b"]}
TWO = [TEXT, {"name": "y", "type": "integer", "categories": [1, 2]}]


@pytest.mark.parametrize(
    ("content", "fields", "remedy"),
    [
        ("x;y\na;1\n", TWO, '''looks like ';': declare "dialect": {"delimiter": ";"}'''),
        ('"x";"y"\n"a";1\n', TWO, '''looks like ';': declare "dialect": {"delimiter": ";"}'''),
        ("x\ty\na\t1\n", TWO, '''declare "dialect": {"delimiter": "\\\\t"}'''),
        ("x,y\na,ü\n".encode("cp1252"), TWO, '''looks like cp1252: declare "dialect": {"encoding": "cp1252"}'''),
        ("x,y\na,1\n".encode("utf-16"), TWO, '''looks like utf-16: declare "dialect": {"encoding": "utf-16"}'''),
        ("report\n\nx,y\na,1\n", TWO, '''in line 3: declare "dialect": {"skipRows": 2}'''),
        ("a,1\nb,2\n", TWO, '''declare "dialect": {"header": false}'''),
        ("x, y\na, 1\n", TWO, '''declare "dialect": {"skipInitialSpace": true}'''),
        ("x,y,z\na,1,2\n", TWO, '''declare "extraColumns": "ignore"'''),
        ("x,y,\na,1,2\n", TWO, '''declare "extraColumns": "ignore"'''),
        ("x,y,y\na,1,1\n", TWO, '''"dialect": {"header": false, "skipRows": 1}'''),
        ("x,y\na,1\n\nb,2\n", TWO, '''"skipBlankRows": true'''),
        ("x,y\na\n", TWO, '''"badRows": "missing"'''),
        ('x,y\n"a"b,1\n', TWO, '''line 2.*declare "dialect": {"quoteChar": ""}'''),
        ('x\n"1,5"\n', [NUMBER], '''"decimalChar": ","'''),
        ('x\n"1,500.25"\n', [NUMBER], '''"groupChar": ","'''),
        ('x\n"1.500,25 €"\n', [NUMBER], '''"decimalChar": ",", "groupChar": ".", "bareNumber": false'''),
        ("x\nunknown\n", [NUMBER], '''"missingValues": \\["unknown"\\]'''),
        ("x\nweiss nicht\n5\n", [NUMBER], '''declare it in "missingValues" \\(\\["weiss nicht"\\]\\)'''),
        ("x\n20000\n", [NUMBER], '''"outOfDomain": "edge"'''),
        ('x\n""\n', [TEXT], '''"missingValues": \\[""\\]'''),
        ("x\n b\n", [TEXT], '''declare "dialect": {"skipInitialSpace": true}'''),
        ("x\nc\n", [TEXT], '''"outOfDomain": "other"'''),
        ("x,y\na,1.5\n", TWO, '''declare "type": "number"'''),
    ],
)  # fmt: skip
def test_each_refusal_says_what_to_declare(tmp_path, content, fields, remedy):
    (tmp_path / "t.csv").write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(RowProblemsFound, match=remedy):
        read_table(tmp_path / "t.csv", parse_schema({"fields": fields}, "s"))

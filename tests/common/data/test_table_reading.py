import gzip
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.data.coded_table import CodedTable, decode, write_csv
from privity.common.data.file_look import look_at
from privity.common.data.schema import load_schema, parse_schema
from privity.common.data.schema_draft import LEAK_WARNING, drafted
from privity.common.data.table_reading import encode, read_rows, read_table
from privity.common.errors import PrivityError, RowProblemsFound

ROWS = """age,work,gain,weight,member,size,grade
17,a,-5,0.1,true,0.50,1
90,d,99999999,NA,0,7,3.0
21,b,0,2,False,2.25,2
22,c,1,,1,x,1e0
"""


def rules(error):
    return sorted(problem.rule for problem in error.value.problems)


def write(path, text):
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_read_and_encode(people, tmp_path):
    table = read_table(write(tmp_path / "t.csv", ROWS), people)
    assert table.rows == 4
    assert [column.tolist() for column in table.columns] == [
        [0, 15, 0, 1], [0, 3, 1, 2], [0, 2, 0, 1], [0, 3, 2, 3], [1, 0, 0, 1], [0, 1, 2, 1], [1, 0, 2, 1],
    ]  # fmt: skip
    assert {column.dtype for column in table.columns} == {np.dtype(np.uint8)}
    with pytest.raises(ValueError, match="read-only"):
        table.column(0)[0] = 1


def test_order_of_columns_packing_bom_and_line_ends_do_not_matter(people, tmp_path):
    expected = read_table(write(tmp_path / "t.csv", ROWS), people)
    lines = [",".join(reversed(line.split(","))) for line in ROWS.splitlines()]
    packed = gzip.compress(("\ufeff" + "\r\n".join(lines)).encode())
    table = read_table(write(tmp_path / "t.csv.gz", packed), people)
    for left, right in zip(table.columns, expected.columns, strict=True):
        assert left.tolist() == right.tolist()


def test_texts_that_look_missing_are_plain_values(tmp_path):
    schema = parse_schema({"fields": [{"name": "x", "type": "string", "categories": ["NA", "None", "?", ""]}]}, "s")
    table = read_table(write(tmp_path / "t.csv", 'x\nNA\nNone\n?\n""\n'), schema)
    assert table.column(0).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ["no-header"]),
        ("\n1,2\n", ["no-header"]),
        ("a,b,a,b\n1,2,3,4\n", ["duplicate-column"]),
        ("a,,b\n1,2,3\n", ["unnamed-column"]),
        ("a,b\n1\n1,2,3\n\n1,2\n", ["ragged-rows"]),
        ("a,a,\n1\n", ["duplicate-column", "ragged-rows", "unnamed-column"]),
    ],
)
def test_faults_of_form(tmp_path, text, expected):
    with pytest.raises(RowProblemsFound) as caught:
        read_rows(write(tmp_path / "t.csv", text))
    assert rules(caught) == expected


@pytest.mark.parametrize("content", [b"a,b\n", gzip.compress(b"a,b\n1,2\n" * 1000, mtime=0)[:-20]])
def test_unreadable_files(tmp_path, content):
    with pytest.raises(PrivityError) as caught:
        read_rows(write(tmp_path / "t.csv.gz", content))
    assert caught.value.code == "file-unreadable"


def test_missing_file(tmp_path):
    with pytest.raises(PrivityError, match="no such file"):
        read_rows(tmp_path / "none.csv")


def test_all_faults_of_a_table_at_once(people):
    frame = pd.DataFrame(
        {
            "age": ["16", "17", "91", "nan", "16"],
            "work": ["a", " a", "A", "b", "b"],
            "gain": ["1.5", "0", "0", "0", "0"],
            "weight": ["inf", "", "1", "1", "1"],
            "size": ["1"] * 5,
            "member": ["yes", "no", "true", "true", "true"],
            "extra": ["1"] * 5,
        }
    )
    with pytest.raises(RowProblemsFound) as caught:
        encode(frame, people, "t.csv")
    found = {(problem.field, problem.rule): problem.message for problem in caught.value.problems}
    assert set(found) == {
        ("header", "missing-column"), ("header", "extra-column"), ("age", "out-of-domain"),
        ("work", "out-of-domain"), ("gain", "out-of-domain"), ("weight", "out-of-domain"),
        ("member", "out-of-domain"),
    }  # fmt: skip
    assert "'16' (row 1, 5)" in found["age", "out-of-domain"]
    assert "an integer from 17 to 90" in found["age", "out-of-domain"]
    assert "'grade'" in found["header", "missing-column"]


def test_messages_stay_short(people):
    frame = pd.DataFrame({name: [f"{place}" * 200 for place in range(200)] for name in people.names})
    with pytest.raises(RowProblemsFound) as caught:
        encode(frame, people, "t.csv")
    assert all(len(str(problem)) < 500 for problem in caught.value.problems)


def test_empty_table_header_of_another_table_and_repeated_columns(people):
    for frame, expected in [
        (pd.DataFrame(columns=list(people.names), dtype=str), ["no-rows"]),
        (pd.DataFrame({"39": ["1"], "Private": ["x"]}), ["no-header"]),
        (pd.DataFrame([["1"] * 8], columns=[*people.names, "age"]), ["duplicate-column"]),
    ]:
        with pytest.raises(RowProblemsFound) as caught:
            encode(frame, people, "t.csv")
        assert rules(caught) == expected


def test_coded_table_guards_its_codes(people):
    good = tuple(np.zeros(3, dtype=np.uint8) for _ in people.names)
    with pytest.raises(ValueError, match="domain of 'work'"):
        CodedTable(people, (good[0], np.array([0, 4, 0]), *good[2:]))
    with pytest.raises(ValueError, match="one column"):
        CodedTable(people, good[1:])
    with pytest.raises(ValueError, match="one length"):
        CodedTable(people, (np.zeros(2, dtype=np.uint8), *good[1:]))


def test_take(people, tmp_path):
    table = read_table(write(tmp_path / "t.csv", ROWS), people)
    assert table.take([3, 0, 3]).column(0).tolist() == [1, 0, 1]
    assert table.take(np.array([True, False, False, True])).rows == 2
    assert table.take([]).rows == 0


@pytest.mark.statistical
@pytest.mark.parametrize(("size", "kind"), [(256, np.uint8), (257, np.uint16), (65536, np.uint16), (65537, np.uint32)])
def test_smallest_type(size, kind):
    item = {"name": "x", "type": "integer", "constraints": {"minimum": 1, "maximum": size}, "bins": size}
    table = encode(pd.DataFrame({"x": [1, size]}), parse_schema({"fields": [item]}, "s"), "t")
    assert table.column(0).dtype == kind
    assert table.column(0).tolist() == [0, size - 1]


def test_decoded_values(people):
    generator = np.random.default_rng(5)
    codes = tuple(generator.integers(0, size, 4000) for size in people.domain)
    table = CodedTable(people, codes)
    frame = decode(table, generator)
    age, gain, weight = frame["age"], frame["gain"], frame["weight"]
    assert age.dtype == gain.dtype == frame["grade"].dtype == np.int64
    assert sorted(set(age[codes[0] == 0])) == [17, 18, 19, 20, 21]  # every integer of the bin occurs
    assert sorted(set(age[codes[0] == 15])) == [86, 87, 88, 89, 90]
    assert set(gain[codes[2] == 0]) == {0}
    assert set(weight[codes[3] == 3]) == {""}
    drawn = weight[codes[3] == 1].astype(float)
    assert drawn.min() >= 11 / 15
    assert drawn.max() < 41 / 30
    assert abs(drawn.mean() - 1.05) < 0.03
    assert set(frame["member"]) == {"false", "true"}
    assert set(frame["size"]) == {0.5, 1.0, 2.25}


NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1, max_size=5)
DECIMALS = st.decimals(-(10**7), 10**7, places=4).map(float)


@st.composite
def fields(draw, name):
    kind = draw(st.sampled_from(["string", "integer", "number", "boolean", "bins", "edges", "integer-edges"]))
    item = {"name": name, "type": kind}
    if kind == "string":
        item["categories"] = draw(st.lists(NAMES, min_size=2, max_size=6, unique=True))
    elif kind == "integer":
        item["categories"] = draw(st.lists(st.integers(-(2**70), 2**70), min_size=2, max_size=6, unique=True))
    elif kind == "number":
        item["categories"] = draw(st.lists(DECIMALS, min_size=2, max_size=6, unique=True))
    elif kind == "bins":
        low, high = sorted(draw(st.lists(DECIMALS, min_size=2, max_size=2, unique=True)))
        item |= {"type": "number", "constraints": {"minimum": low, "maximum": high}, "bins": draw(st.integers(2, 9))}
    elif kind == "edges":
        item |= {"type": "number", "edges": sorted(draw(st.lists(DECIMALS, min_size=3, max_size=9, unique=True)))}
    elif kind == "integer-edges":
        edges = draw(st.lists(st.integers(-(2**61), 2**61), min_size=3, max_size=9, unique=True))
        item |= {"type": "integer", "edges": sorted(edges)}
    if draw(st.booleans()):
        item["missingValues"] = ["", "n/a missing"]
    return item


@st.composite
def coded_tables(draw):
    names = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    schema = parse_schema({"fields": [draw(fields(name)) for name in names]}, "drawn")
    rows = draw(st.integers(1, 20))
    columns = [
        np.array(draw(st.lists(st.integers(0, size - 1), min_size=rows, max_size=rows))) for size in schema.domain
    ]
    return CodedTable(schema, tuple(columns))


@given(table=coded_tables(), seed=st.integers(0, 2**32))
def test_decode_then_encode_gives_the_same_codes(tmp_path_factory, table, seed):
    frame = decode(table, np.random.default_rng(seed))
    path = tmp_path_factory.mktemp("round") / "t.csv"
    write_csv(frame, path)
    # As texts: a frame's integers count as doubles, which do not tell all of these apart.
    for again in (encode(frame.map(str), table.schema, "frame"), read_table(path, table.schema)):
        for left, right in zip(again.columns, table.columns, strict=True):
            assert left.tolist() == right.tolist()


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (1e-60, 3e-60),
        (1e60, 3e60),
        (-1e60, 1e-60),
        (123456789.125, 123456789.1251),
        (0, 1e-30),
        (999999999999998, 1e15),
    ],
)
def test_numbers_of_any_size_stay_in_their_bin(low, high):
    item = {"name": "x", "type": "number", "constraints": {"minimum": low, "maximum": high}, "bins": 2}
    schema = parse_schema({"fields": [item]}, "s")
    table = CodedTable(schema, (np.arange(2000) % 2,))
    frame = decode(table, np.random.default_rng(0))
    assert encode(frame, schema, "t").column(0).tolist() == table.column(0).tolist()
    exact = [Fraction(repr(value)) for value in frame["x"].tolist()]
    assert min(exact) >= schema.attributes[0].edges[0]
    assert max(exact) <= schema.attributes[0].edges[-1]


def test_write_csv_is_atomic_and_repeatable(tmp_path):
    frame = pd.DataFrame({"a": ["x,y", ""], "b": [1, 2]})
    for name in ("t.csv", "t.csv.gz"):
        write_csv(frame, tmp_path / name)
        first = (tmp_path / name).read_bytes()
        write_csv(frame, tmp_path / name)
        assert (tmp_path / name).read_bytes() == first
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.csv", "t.csv.gz"]
    assert gzip.decompress(first) == b'a,b\n"x,y",1\n,2\n'
    with pytest.raises(PrivityError):
        write_csv(frame, tmp_path / "none" / "t.csv")


def test_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = write(tmp_path / "t.csv", "old")

    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pd.DataFrame, "to_csv", fail)
    with pytest.raises(PrivityError, match="No space left"):
        write_csv(pd.DataFrame({"a": [1]}), path)
    assert [file.name for file in tmp_path.iterdir()] == ["t.csv"]
    assert path.read_text() == "old"


def test_draft_is_a_schema_that_takes_its_file(tmp_path):
    generator = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "age": generator.integers(17, 91, 500),
            "height": generator.normal(1.7, 0.1, 500).round(3),
            "grade": generator.integers(0, 5, 500).astype(str),
            "kind": generator.choice(["a", "b", ""], 500),
            "flag": generator.choice(["true", "False"], 500),
        }
    )
    write_csv(frame, tmp_path / "people.csv.gz")
    draft = drafted(look_at(tmp_path / "people.csv.gz")).document
    schema = parse_schema(draft, "draft")
    assert schema.name == "people"
    assert [attribute.type for attribute in schema.attributes] == ["integer", "number", "integer", "string", "boolean"]
    told = {"constraints": {"minimum": 0}, "readOffRows": "undeclared"}
    assert draft["fields"][0] == {"name": "age", "type": "integer", "domain": "discover", **told}
    assert draft["fields"][1] == {"name": "height", "type": "number", "domain": "discover", "decimals": 3, **told}
    assert schema.domain[2:] == (5, 3, 2)
    assert schema.undeclared == schema.names
    assert read_table(tmp_path / "people.csv.gz", schema).rows == 500
    assert "leak" in LEAK_WARNING


COUNTED = {"domain": "discover", "constraints": {"minimum": 0}}
"""What is proposed of numbers of which none is negative."""


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["2013"] * 3, {"type": "integer", "categories": [2013], "categoriesOrdered": True}),
        (["x"] * 3, {"type": "string", "categories": ["x"]}),
        (["x", "", "x"], {"type": "string", "categories": ["x"], "missingValues": [""]}),
        (["01234", "98765"], {"type": "string", "categories": ["01234", "98765"]}),
        ([*map(str, range(-1, 30))], {"type": "integer", "domain": "discover"}),
        (["0", "0.5", "-1"], {"type": "number", "categories": [-1, 0, 0.5], "categoriesOrdered": True}),
        ([*map(str, range(30)), "NA", ""], {"type": "integer", **COUNTED, "missingValues": ["", "NA"]}),
        ([f"{place}.25" for place in range(30)], {"type": "number", **COUNTED, "decimals": 2}),
        ([f"{place}e-3" for place in range(30)], {"type": "number", **COUNTED, "decimals": 3}),
        (["NA", "EU", "EU"], {"type": "string", "categories": ["EU"], "missingValues": ["NA"]}),
    ],
)
def test_what_is_drafted_of_a_column_is_a_schema(tmp_path, texts, expected):
    write_csv(pd.DataFrame({"x": texts, "y": [str(place % 2) for place in range(len(texts))]}), tmp_path / "t.csv")
    draft = drafted(look_at(tmp_path / "t.csv")).document
    assert draft["fields"][0] == {"name": "x", **expected, "readOffRows": "undeclared"}
    assert read_table(tmp_path / "t.csv", parse_schema(draft, "draft")).rows == len(texts)


def test_draft_leaves_identifiers_open(tmp_path):
    write_csv(pd.DataFrame({"id": [f"person {place}" for place in range(400)]}), tmp_path / "t.csv")
    draft = drafted(look_at(tmp_path / "t.csv"), keep=["id"]).document
    assert "person" not in str(draft)
    (attribute,) = parse_schema(draft, "draft").attributes
    assert attribute.discover


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["adult", "nltcs"])
def test_shared_tables_round_trip(shared_data, name):
    schema = load_schema(shared_data / f"{name}.schema.json")
    table = read_table(shared_data / f"{name}.csv.gz", schema)
    assert table.rows == {"adult": 45222, "nltcs": 21574}[name]
    again = encode(decode(table, np.random.default_rng(0)), schema, name)
    for left, right in zip(again.columns, table.columns, strict=True):
        assert np.array_equal(left, right)

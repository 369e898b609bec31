"""Dates, times and durations: each text is one number, and what is written of it is read as it."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.data.frame_values import Moments, code_of
from privity.common.data.schema import parse_schema
from privity.common.data.temporal import temporal
from privity.common.data.temporal_columns import NOT_A_TIME, texts_of
from privity.common.data.temporal_pattern import DAY, DEFAULT, SECOND, FormError

EPOCH = datetime(1970, 1, 1)
ZONES = ["UTC", "+05:30", "-03:00", "Europe/Vienna", "America/St_Johns"]


@given(st.dates(), st.sampled_from([DEFAULT, "%d/%m/%Y", "%Y%m%d", "%B %d, %Y", "%a %d %b %Y", "%Y-%j"]))
def test_a_date_is_the_number_of_its_day_in_any_format(day, form):
    read = temporal("date", form, None, None)
    number = (day - date(1970, 1, 1)).days
    text = read.text(number)
    assert text == (day.isoformat() if form == DEFAULT else text)
    assert read.read(text) == number == read.read_iso(day.isoformat()) == read.of_value("date", day.isoformat())
    assert read.iso(number) == day.isoformat()


@given(st.datetimes(), st.integers(0, 6))
def test_a_time_without_a_zone_is_cut_to_its_decimals(moment, decimals):
    read = temporal("datetime", DEFAULT, decimals, None)
    number = (moment - EPOCH) // timedelta(microseconds=1) * 1000 // read.unit
    assert read.unit == SECOND // 10**decimals
    assert read.read(moment.isoformat()) == read.read(moment.isoformat(" ")) == number
    assert read.read(read.text(number)) == number
    assert read.read(f"{moment.isoformat()}Z") is None, "a zone is not guessed"


@given(st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1)), st.sampled_from(ZONES), st.integers(-1439, 1439))
def test_a_time_with_a_zone_is_a_point_of_time_whatever_offset_it_is_written_with(moment, zone, minutes):
    read = temporal("datetime", DEFAULT, 6, zone)
    there = moment.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    number = (there - EPOCH.replace(tzinfo=UTC)) // timedelta(microseconds=1)
    assert read.read(there.isoformat()) == number
    text = read.text(number)
    assert read.read(text) == number
    assert datetime.fromisoformat(text) == there
    assert read.read(moment.isoformat()) is None, "what has no offset is not guessed"
    minutes = there.replace(second=0, microsecond=0)
    assert read.read(minutes.isoformat(timespec="minutes")) == read.read(minutes.isoformat())


@given(st.times(), st.sampled_from([DEFAULT, "%I:%M:%S %p", "%H.%M.%S", "%H%M%S"]))
def test_a_time_of_day_counts_from_midnight(moment, form):
    read = temporal("time", form, None, None)
    number = moment.hour * 3600 + moment.minute * 60 + moment.second
    assert read.of_value("time", moment.isoformat()) == number
    assert read.read(read.text(number)) == number
    assert read.iso(number) == moment.replace(microsecond=0).isoformat()


@given(st.timedeltas(), st.sampled_from([DEFAULT, "%H:%M:%S", "%d days %H:%M:%S", "PT%SS"]))
def test_a_duration_is_its_seconds(length, form):
    if form != DEFAULT and length < timedelta(0):
        length = -length
    read = temporal("duration", form, None, None)
    number = length // timedelta(seconds=1)
    assert read.read(read.text(number)) == number == read.read_iso(read.iso(number))


@pytest.mark.parametrize(
    ("kind", "form", "texts"),
    [
        ("date", DEFAULT, ["2021-02-29", "2021-2-03", "21-02-03", "2021-02-03 ", "20210203", "0000-01-01", "٢-٠١-٠١"]),
        ("date", "%d/%m/%Y", ["31/4/2021", "2021-02-03", "1/2/21"]),
        ("date", "%a %d %b %Y", ["Mon 25 Nov 2026", "Wed 25 Nvo 2026"]),
        ("date", "%Y-%j", ["2021-366", "2021-000"]),
        ("time", DEFAULT, ["24:00:00", "23:60", "23:59:60", "9:00", "12:00:00.1234567891"]),
        ("time", "%I:%M %p", ["13:00 PM", "0:30 AM", "12:30"]),
        ("datetime", DEFAULT, ["2021-02-03", "2021-02-03T25:00:00", "2021-02-03  12:00:00", "2021-02-03T12:00+01"]),
        ("duration", DEFAULT, ["P", "PT", "P1Y", "P1M", "PT1.5H", "1 day", "P1DT"]),
        ("duration", "%H:%M:%S", ["1:60:00", "01:00", "PT1H"]),
    ],
)  # fmt: skip
def test_what_is_not_of_the_format_is_no_value(kind, form, texts):
    read = temporal(kind, form, None, None)
    assert [text for text in texts if read.read(text) is not None] == []


def test_the_format_says_how_fine_values_are():
    minutes = temporal("datetime", "%d.%m.%Y %H:%M", None, None)
    assert minutes.unit == 60 * SECOND
    assert minutes.iso(1) == "1970-01-01T00:01"
    assert minutes.of_value("datetime", "1970-01-01 00:01:59.9") == 1
    assert temporal("time", "%H", None, None).text(7) == "07"
    assert temporal("date", DEFAULT, None, None).unit == DAY
    assert temporal("duration", "PT%MM", None, None).text(90) == "PT90M"
    tenths = temporal("datetime", "%Y-%m-%d %H:%M:%S.%f", 1, None)
    assert tenths.text(tenths.read("2021-02-03 04:05:06.789")) == "2021-02-03 04:05:06.7"


def test_a_date_may_be_a_midnight_of_pandas_and_no_other_time():
    read = temporal("date", DEFAULT, None, None)
    assert read.of_value("datetime", "1970-01-02 00:00:00") == 1
    assert read.of_value("datetime", "1970-01-02 00:00:00.000000001") is None
    assert [kind for kind in ("date", "datetime", "instant", "time", "duration") if read.takes(kind)] == [
        "date",
        "datetime",
    ]
    assert temporal("datetime", DEFAULT, None, "UTC").takes("instant")
    assert not temporal("datetime", DEFAULT, None, "UTC").takes("datetime")


@pytest.mark.parametrize(
    ("kind", "form", "decimals", "zone", "key", "message"),
    [
        ("date", "%d/%m", None, None, "format", "it lacks the year"),
        ("date", "%Y-%m", None, None, "format", "the month or the day"),
        ("date", "%Q", None, None, "format", "%Q is not read in a date"),
        ("date", "any", None, None, "format", "no format"),
        ("date", "%Y-%m-%d%", None, None, "format", "no format"),
        ("date", "%d/%d/%Y", None, None, "format", "twice"),
        ("date", "%-d%m/%Y", None, None, "format", "beside digits"),
        ("date", "%-Y-%m-%d", None, None, "format", "no format|is not read"),
        ("date", "%d/%m/%b/%Y", None, None, "format", "twice"),
        ("datetime", "%Y-%m-%d %H:%S", None, None, "format", "it lacks %M"),
        ("datetime", "%Y-%m-%d", None, None, "format", "the hour"),
        ("datetime", "%Y-%m-%d %H %z", None, None, "format", "no 'timezone' is declared"),
        ("datetime", "%Y-%m-%d %H", None, "UTC", "format", "it has no %z"),
        ("datetime", "%Y-%m-%d %H:%M", 3, None, "decimals", "no %f"),
        ("datetime", "%Y-%m-%d %H:%M:%S.%f", 0, None, "decimals", "has %f"),
        ("datetime", DEFAULT, None, "Mars/Olympus", "timezone", "no time zone is called"),
        ("datetime", DEFAULT, None, "+25:00", "timezone", "no time zone is called"),
    ],
)
def test_a_format_that_loses_something_is_refused(kind, form, decimals, zone, key, message):
    with pytest.raises(FormError, match=message) as found:
        temporal(kind, form, decimals, zone)
    assert found.value.key == key


def test_a_day_without_a_zero_in_front_is_written_as_it_was_read():
    short = temporal("datetime", "%-m/%-d/%Y %-H:%M", None, None)
    for text in ("1/2/2000 9:05", "11/30/2000 0:00"):
        assert short.text(short.read(text)) == text
        assert texts_of(short, np.array([short.read(text)])).tolist() == [text]
    assert short.read("01/02/2000 09:05") == short.read("1/2/2000 9:05")


def test_two_digits_of_a_year_are_of_1969_to_2068():
    read = temporal("date", "%d.%m.%y", None, None)
    assert read.iso(read.read("1.1.69")) == "1969-01-01"
    assert read.iso(read.read("31.12.68")) == "2068-12-31"


@pytest.mark.parametrize("zone", [None, "UTC"])
@given(first=st.integers(1, 9900), place=st.integers(0, 36_524))
def test_two_digits_of_a_year_are_of_the_hundred_years_that_are_declared(zone, first, place):
    form = temporal("datetime", "%y-%m-%d %H:%M" + "%z" * (zone is not None), None, zone, first)
    begin, end = form.years
    days = date(end, 12, 31).toordinal() - date(begin, 1, 1).toordinal()
    number = (date(begin, 1, 1).toordinal() - date(1970, 1, 1).toordinal() + min(place, days)) * 24 * 60
    assert form.read(form.text(number)) == number
    assert begin <= int(form.iso(number)[:4]) <= end


def test_a_first_year_goes_with_two_digits_only():
    with pytest.raises(FormError, match="no %y"):
        temporal("date", "%d.%m.%Y", None, None, 1930)
    assert time.fromisoformat(temporal("time", DEFAULT, None, None).text(0)) == time(0)


@given(st.sampled_from([
    ("date", DEFAULT, None, None), ("date", "%A %d %B %y", None, None), ("time", "%I:%M:%S %p", None, None),
    ("datetime", DEFAULT, 6, None), ("datetime", DEFAULT, 0, "America/St_Johns"), ("datetime", DEFAULT, 3, "UTC"),
    ("datetime", "at %H:%M on %d.%m.%Y", None, None), ("datetime", "%Y-%m-%d %H:%M:%S.%f %z", 2, "+05:30"),
    ("duration", DEFAULT, 1, None),
]), st.lists(st.integers(0, 86_399), min_size=1, max_size=9), st.integers(1, 20_000))  # fmt: skip
def test_many_texts_are_written_as_each_one(declared, numbers, step):
    form = temporal(*declared)
    most = 86_399 if form.type == "time" else 30_000 if form.type == "date" else 10**12
    some = np.array([number * step % most for number in numbers])
    assert texts_of(form, some).tolist() == [form.text(number) for number in some.tolist()]


@given(
    st.sampled_from(["date", "datetime", "instant", "duration"]), st.sampled_from(["s", "ms", "us", "ns"]),
    st.lists(st.none() | st.integers(-(2**63) + 1, 2**63 - 1) | st.integers(-(10**5), 10**5), min_size=1, max_size=9),
    st.sampled_from(["refuse", "edge", "other"]), st.booleans(),
)  # fmt: skip
def test_codes_of_a_column_are_those_of_its_values(kind, unit, ticks, rule, missing):
    zone = {"timezone": "Europe/Vienna"} if kind == "instant" else {}
    declared = {"instant": "datetime"}.get(kind, kind)
    form = temporal(declared, DEFAULT, None, zone.get("timezone"))
    values = [form.iso(number) for number in (-1, 0, 1, 50, 90_000)]
    domain = {"categories": values, "other": values[3]} if rule == "other" else {"edges": values}
    field = {"name": "x", "type": declared, **zone, **domain, "outOfDomain": rule}
    if missing:
        field["missingValues"] = ["", form.iso(91_000 if rule == "other" else 99_999)]
    schema = parse_schema({"fields": [field]}, "s")
    numbers = np.array([NOT_A_TIME if tick is None else tick for tick in ticks])
    moments = Moments(numbers.view(f"{'m' if kind == 'duration' else 'M'}8[{unit}]"), kind == "instant")
    (attribute,) = schema.attributes
    expected = [code_of(attribute, value) for value in moments.listed()]
    known = moments.codes(attribute)
    if known is not None:
        assert known.tolist() == [attribute.size if code is None else code for code in expected]
    # Far beyond the calendar each value is looked at.
    assert known is not None or any(tick is None or abs(tick) > 10**5 for tick in ticks)

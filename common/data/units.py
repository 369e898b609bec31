"""What stands beside the numbers of a column: a currency or a measure, or a word that a person would miss.

For proposals to the owner of a table. What a schema reads as a number with something beside it, it declares.
"""

from __future__ import annotations

import unicodedata

CURRENCIES = frozenset(
    ("aud", "brl", "cad", "chf", "cny", "czk", "dkk", "eur", "euro", "euros", "fr", "ft", "gbp", "hkd", "huf", "ils",
     "inr", "jpy", "kč", "kr", "krw", "mxn", "nok", "nzd", "pln", "rmb", "ron", "rs", "rub", "sek", "sfr", "sgd",
     "thb", "try", "twd", "uah", "usd", "zar", "zł")
)  # fmt: skip
MEASURES = frozenset(
    ("%", "‰", "bar", "beats/min", "bpm", "cal", "cc", "cl", "cm", "cm2", "cm3", "day", "days", "db",
     "dl", "dm", "floz", "fps", "ft", "g", "g/dl", "g/l", "gb", "h", "ha", "hour", "hours", "hpa", "hr", "hrs",
     "hz", "in", "iu", "iu/l", "kb", "kcal", "kg", "kg/m2", "kg/m²", "kj", "km", "km/h", "km2", "km²",
     "kpa", "kph", "kw", "kwh", "l", "lb", "lbs", "m", "m/s", "m2", "m3", "m²", "m³", "mah", "mb", "mbar", "mcg",
     "mg", "mg/dl", "mg/l", "mhz", "mi", "mile", "miles", "min", "mins", "minute", "minutes", "ml", "ml/min", "mm",
     "mmhg", "mmol", "mmol/l", "mol", "month", "months", "mph", "ms", "mw", "ng", "ng/ml", "nm", "nmol/l", "oz", "pa",
     "pct", "percent", "pg", "pg/ml", "pound", "pounds", "ppb", "ppm", "psi", "pt", "px", "s", "sec", "second",
     "seconds", "secs", "sqft", "sqm", "tb", "u/l", "ug", "um", "v", "w", "week", "weeks", "wk", "wks", "yd", "year",
     "years", "yr", "yrs", "°", "°c", "°f", "µg", "µg/l", "µm", "µmol/l", "μg", "μmol/l")
)  # fmt: skip
"""In lower case, with digits as they stand in exponents."""

FEW = 20
"""Different values: of more, an unknown word behind each number may be a unit as well."""

ORDINALS = ("st", "nd", "rd", "th")


def may_be_left_out(before: str, after: str, different: int) -> bool:
    """Whether a number says all that its text says.

    Args:
        before, after: what stands beside each number of a column.
        different: how many different values there are.
    """
    return _is_currency(before) and (
        not after.strip() or _is_currency(after) or after.strip().lower().rstrip(".") in MEASURES
        or (different > FEW and not before and after.strip().lower() not in ORDINALS)
    )  # fmt: skip


def _is_currency(text: str) -> bool:
    """Whether nothing but a currency is there, if anything."""
    plain = text.strip()
    return not plain or plain.lower().rstrip(".") in CURRENCIES or (
        len(plain) <= len("HK$") and any(unicodedata.category(sign) == "Sc" for sign in plain)
    )  # fmt: skip

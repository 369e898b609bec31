"""Read the text of a rule: a small language with the grammar of Python's expressions, of which little is let through.

``ast`` reads the text and nothing ever runs it: what is not on the list below is a fault with its place.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from privity.common.data.attribute import Attribute, is_double, read_number, value_text
from privity.common.data.expression import AllOf, AnyOf, Codes, Condition, Missing, Not, Numbers
from privity.common.text.short_values import LONGEST_ECHO, shorten

SYMBOLS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip
MIRRORED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
TRUTHS = {"true": True, "false": False, "True": True, "False": False}
LARGEST_EXPONENT = 100  # as of the numbers of a schema
SMALLEST = Fraction(1, 10**LARGEST_EXPONENT)
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`([^`]*)`")

ALLOWED = (
    "Use and, or, not, comparisons (== != < <= > >=) between attributes and values, in [...], not in [...], "
    "missing(attribute) and parentheses."
)
BACKTICKS = "Put names with other signs than letters, digits and _ in backticks, and texts in quotes."


class RuleError(Exception):
    """What is wrong with a rule: its name as a rule of the format, message and remedy."""

    def __init__(self, kind: str, message: str, remedy: str) -> None:
        self.kind, self.message, self.remedy = kind, message, remedy
        super().__init__(message)


@dataclass(frozen=True)
class _Ref:
    attribute: Attribute


@dataclass(frozen=True)
class _Literal:
    value: str | bool | Fraction
    text: str
    kind: str = ""


_Operand = _Ref | _Literal


def parse_rule(text: str, attributes: Mapping[str, Attribute]) -> Condition:
    """The condition that a rule states about these attributes; raises ``RuleError`` with its first fault."""
    source = _Source(text)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source.plain, mode="eval")
    except SyntaxError as error:
        offset = error.offset or 0
        where = f"at character {source.place(offset - 1) + 1}" if offset and error.lineno == 1 else "at its end"
        raise RuleError("rule-syntax", f"it cannot be read {where}.", f"{ALLOWED} {BACKTICKS}") from None
    except (ValueError, RecursionError, MemoryError):
        raise RuleError("rule-syntax", "it cannot be read.", "Write a shorter rule.") from None
    try:
        return _Reader(source, attributes).condition(tree.body)
    except RecursionError:
        raise RuleError("rule-syntax", "it is nested too deep.", "Write several rules.") from None


class _Source:
    """A rule's text, names in backticks replaced by plain ones.

    Attributes:
        plain: what ``ast`` reads.
    """

    def __init__(self, text: str) -> None:
        if any(ord(letter) < 32 or ord(letter) == 127 for letter in text):
            remedy = "Write the rule on one line, without tabs."
            raise RuleError("control-character", "it holds a control character.", remedy)
        self._names: dict[str, str] = {}
        self._origins: list[int] = []
        parts: list[str] = []
        last = 0

        def take(part: str, start: int, *, whole: bool = False) -> None:
            parts.append(part)
            self._origins += [start] * len(part) if whole else range(start, start + len(part))

        for found in _QUOTED.finditer(text):
            if found[1] is None:
                continue
            take(text[last : found.start()], last)
            name = f"quoted_{len(self._names)}_"
            while name in text:
                name += "_"
            self._names[name] = found[1]
            take(name, found.start(), whole=True)
            last = found.end()
        take(text[last:], last)
        spaces = len("".join(parts)) - len("".join(parts).lstrip(" "))
        # A leading space would be an indentation.
        self.plain = "".join(parts)[spaces:]
        self._origins = [*self._origins[spaces:], len(text)]

    def place(self, offset: int) -> int:
        """Where a character of ``plain`` stands in the rule."""
        return self._origins[min(offset, len(self._origins) - 1)]

    def segment(self, node: ast.expr) -> str:
        """The node's text as it stands in ``plain``."""
        line = self.plain.encode()
        return line[node.col_offset : node.end_col_offset].decode()

    def position(self, node: ast.expr) -> int:
        """The character at which a node begins, from 1."""
        return self.place(len(self.plain.encode()[: node.col_offset].decode())) + 1

    def name(self, node: ast.Name) -> tuple[str, bool]:
        """A name as it was written (``ast`` spells some letters anew), and whether it stood in backticks."""
        written = self.segment(node)
        return (self._names[written], True) if written in self._names else (written, False)


class _Reader:
    def __init__(self, source: _Source, attributes: Mapping[str, Attribute]) -> None:
        self._source, self._attributes = source, attributes

    def condition(self, node: ast.expr) -> Condition:
        match node:
            case ast.BoolOp(op, values):
                parts = tuple(self.condition(value) for value in values)
                return AllOf(parts) if isinstance(op, ast.And) else AnyOf(parts)
            case ast.UnaryOp(ast.Not(), operand):
                return Not(self.condition(operand))
            case ast.Compare(left, operators, comparators):
                pairs = pairwise([left, *comparators])
                parts = tuple(self._compared(a, op, b) for op, (a, b) in zip(operators, pairs, strict=True))
                return parts[0] if len(parts) == 1 else AllOf(parts)
            case ast.Call(ast.Name() as function, [ast.Name() | ast.Attribute() as argument], []) if self._source.name(
                function
            ) == (
                "missing",
                False,
            ):
                return self._missing(argument)
            case ast.Name():
                named = self._operand(node)
                if isinstance(named, _Ref) and named.attribute.type == "boolean":
                    return self._codes("==", named.attribute, 1)
                what = self._written(named)
                raise self._fault(node, "rule-type", f"{what} alone is no condition.", "Compare it with something.")
        raise self._fault(node, "rule-syntax", "this is not part of the language of rules.", ALLOWED)

    def _fault(self, node: ast.expr, kind: str, message: str, remedy: str) -> RuleError:
        return RuleError(kind, f"at character {self._source.position(node)}: {message}", remedy)

    def _missing(self, argument: ast.expr) -> Condition:
        operand = self._operand(argument)
        if not isinstance(operand, _Ref):
            raise self._fault(argument, "rule-type", "missing() takes an attribute.", "Name an attribute.")
        if not operand.attribute.missing:
            message = f"{shorten(operand.attribute.name)} declares no missing values."
            raise self._fault(argument, "rule-type", message, "Leave missing(...) out, or declare 'missingValues'.")
        return Missing(operand.attribute.name)

    def _compared(self, left: ast.expr, sign: ast.cmpop, right: ast.expr) -> Condition:
        if isinstance(sign, ast.In | ast.NotIn):
            if not isinstance(right, ast.List | ast.Tuple) or not right.elts:
                raise self._fault(right, "rule-syntax", "'in' takes a list of values.", "Write for instance in [1, 2].")
            operand = self._operand(left)
            if not isinstance(operand, _Ref):
                raise self._fault(left, "rule-type", "'in' asks about an attribute.", "Name one before 'in'.")
            parts = []
            for element in right.elts:
                value = self._operand(element)
                if not isinstance(value, _Literal):
                    raise self._fault(element, "rule-syntax", "a list holds values only.", "Use == for an attribute.")
                parts.append(self._pair(element, "==", operand, value))
            found: Condition = parts[0] if len(parts) == 1 else AnyOf(tuple(parts))
            return Not(found) if isinstance(sign, ast.NotIn) else found
        if type(sign) not in SYMBOLS:
            raise self._fault(right, "rule-syntax", "this is not part of the language of rules.", ALLOWED)
        return self._pair(right, SYMBOLS[type(sign)], self._operand(left), self._operand(right))

    def _operand(self, node: ast.expr) -> _Operand:
        match node:
            case ast.Name():
                name, quoted = self._source.name(node)
                if name in self._attributes:
                    return _Ref(self._attributes[name])
                if not quoted and name in TRUTHS:
                    return _Literal(TRUTHS[name], name)
                message = f"no attribute is called {shorten(name)}."
                known = ", ".join(list(self._attributes)[:10]) + (", ..." if len(self._attributes) > 10 else "")
                raise self._fault(node, "rule-attribute", message, f"Attributes: {known}. {BACKTICKS}")
            case ast.Attribute(value=ast.Name()) if (name := self._source.segment(node)) in self._attributes:
                # Of another table.
                return _Ref(self._attributes[name])
            case ast.Constant(value=bool() as value):
                return _Literal(value, str(value))
            case ast.Constant(value=str() as value):
                return _Literal(value, repr(value))
            case ast.Constant(value=int() | float()):
                return self._number(node, self._source.segment(node))
            case ast.UnaryOp(ast.USub() | ast.UAdd() as sign, ast.Constant(value=int() | float() as value)) if (
                not isinstance(value, bool)
            ):
                spelled = self._source.segment(node.operand)
                return self._number(node, f"-{spelled}" if isinstance(sign, ast.USub) else spelled)
        message = "neither an attribute nor a value stands here."
        raise self._fault(node, "rule-syntax", message, ALLOWED)

    def _number(self, node: ast.expr, text: str) -> _Literal:
        read = read_number(text)
        if read is None:
            raise self._fault(node, "rule-number", f"{shorten(text)} is not read.", "Write a decimal such as 12.5.")
        number = Fraction(read)
        if number and not SMALLEST <= abs(number) <= 1 / SMALLEST:
            message = f"{shorten(text)} is not within 1e-{LARGEST_EXPONENT} to 1e{LARGEST_EXPONENT}."
            raise self._fault(node, "rule-number", message, "Use a number of the attribute's range.")
        return _Literal(number, text)

    def _moment(self, node: ast.expr, attribute: Attribute, literal: _Literal) -> _Literal:
        """A text that is compared with a date or time, as its number."""
        assert attribute.temporal is not None
        number = attribute.temporal.read_iso(str(literal.value))
        if number is None:
            message = f"{literal.text[:LONGEST_ECHO]} is no {attribute.type} of ISO 8601."
            remedy = f"Write it as in the schema, such as '{attribute.temporal.iso(0)}'."
            raise self._fault(node, "rule-value", message, remedy)
        return _Literal(number, literal.text, _kind(attribute))

    def _written(self, operand: _Operand) -> str:
        return shorten(operand.attribute.name) if isinstance(operand, _Ref) else operand.text[:LONGEST_ECHO]

    def _pair(self, node: ast.expr, relation: str, left: _Operand, right: _Operand) -> Condition:
        """One comparison; ``node`` is where a fault of it is."""
        if isinstance(left, _Literal):
            if isinstance(right, _Literal):
                remedy = "Compare an attribute with something."
                raise self._fault(node, "rule-type", "two values are compared, and no attribute.", remedy)
            return self._pair(node, MIRRORED[relation], right, left)
        a = left.attribute
        if a.temporal is not None and isinstance(right, _Literal) and isinstance(right.value, str):
            right = self._moment(node, a, right)
        kinds = _kind(a), _kind(right.attribute) if isinstance(right, _Ref) else _kind_of_literal(right)
        if kinds[0] != kinds[1]:
            message = f"{shorten(a.name)} is a {kinds[0]}, and {self._written(right)} is a {kinds[1]}."
            raise self._fault(node, "rule-type", message, "Compare what is of one kind; texts stand in quotes.")
        ordering = relation not in ("==", "!=")
        for operand in (left, right):
            if ordering and isinstance(operand, _Ref):
                self._check_ordered(node, operand.attribute, kinds[0])
        numeric = a.numeric
        if isinstance(right, _Literal):
            if numeric:
                self._check_number(node, a, right, ordering)
                assert isinstance(right.value, Fraction)
                return Numbers(relation, a.name, right.value)
            if kinds[0] == "boolean":
                return self._codes(relation, a, int(bool(right.value)))
            return self._codes(relation, a, self._category(node, a, right))
        b = right.attribute
        if a.name == b.name:
            message = f"{shorten(a.name)} is compared with itself."
            raise self._fault(node, "rule-type", message, "Compare it with something else.")
        if numeric:
            return Numbers(relation, a.name, b.name)
        if ordering and a.categories != b.categories:
            message = f"the categories of {shorten(a.name)} and {shorten(b.name)} are not the same in the same order."
            raise self._fault(node, "rule-order", message, "Compare them by == and != only.")
        places = {value: place for place, value in enumerate(dict.fromkeys([*a.categories, *b.categories]))}
        spelled = tuple(places[value] for value in a.categories), tuple(places[value] for value in b.categories)
        return Codes(relation, a.name, spelled[0], b.name, spelled[1])

    def _codes(self, relation: str, attribute: Attribute, place: int) -> Codes:
        return Codes(relation, attribute.name, tuple(range(attribute.values)), place)

    def _check_ordered(self, node: ast.expr, attribute: Attribute, kind: str) -> None:
        """Whether one value of the attribute is less than another, beyond doubt."""
        name = shorten(attribute.name)
        if kind == "boolean":
            raise self._fault(node, "rule-order", f"{name} is a boolean and has no order.", "Use == or !=.")
        if kind == "text" and not attribute.ordered:
            remedy = 'Use ==, != or in [...], or declare "categoriesOrdered": true.'
            raise self._fault(node, "rule-order", f"the categories of {name} have no order.", remedy)
        numbers = [value for value in attribute.categories if not isinstance(value, str)]
        if attribute.numeric and attribute.ordered and numbers != sorted(numbers):
            message = f"the categories of {name} are declared in another order than that of their numbers."
            raise self._fault(node, "rule-order", message, "Use in [...] and name the categories that are meant.")

    def _category(self, node: ast.expr, attribute: Attribute, literal: _Literal) -> int:
        for code, value in enumerate(attribute.categories):
            if value == literal.value:
                return code
        shown = ", ".join(shorten(value_text(value)) for value in attribute.categories[:10])
        more = ", ..." if len(attribute.categories) > 10 else ""
        message = f"{shorten(literal.value)} is no category of {shorten(attribute.name)}."
        raise self._fault(node, "rule-value", message, f"Its categories: {shown}{more}.")

    def _check_number(self, node: ast.expr, attribute: Attribute, literal: _Literal, ordering: bool) -> None:
        assert isinstance(literal.value, Fraction)
        if attribute.histogram is not None:
            # Its domain was discovered after the rule was declared, and was paid for.
            return
        number: Fraction = literal.value
        fits = attribute.temporal is not None or (number.denominator == 1 and attribute.whole) or attribute.exact
        if not fits and not is_double(number):
            message = f"{shorten(literal.text)} has too many digits for a double."
            raise self._fault(node, "rule-number", message, "Write at most 15 significant digits.")
        if ordering or _holds(attribute, number):
            return
        message = f"{shorten(literal.text)} is no value of {shorten(attribute.name)}."
        raise self._fault(node, "rule-value", message, "Name a value of its domain, or use < and >.")


def _holds(attribute: Attribute, number: Fraction) -> bool:
    """Whether the number is a value of the attribute's domain."""
    if attribute.categories:
        return number in attribute.categories
    whole = attribute.type == "number" or number.denominator == 1
    return bool(whole and attribute.edges[0] <= number <= attribute.edges[-1])


def _kind(attribute: Attribute) -> str:
    if attribute.temporal is None:
        return {"string": "text", "boolean": "boolean"}.get(attribute.type, "number")
    # Only values of the same points can be compared.
    zone = "" if attribute.temporal.zone is None else " with a zone"
    return f"{attribute.type}{zone} as fine as {attribute.temporal.iso(0)}"


def _kind_of_literal(literal: _Literal) -> str:
    if literal.kind:
        return literal.kind
    if isinstance(literal.value, bool):
        return "boolean"
    return "text" if isinstance(literal.value, str) else "number"

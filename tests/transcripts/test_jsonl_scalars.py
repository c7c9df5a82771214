"""A text or number of a class of its own is saved as the plain one that it is, whatever the class says of itself."""

from __future__ import annotations

import io
import json
from collections import OrderedDict
from datetime import UTC, date, datetime, time
from decimal import Decimal
from enum import Enum, IntEnum, IntFlag, StrEnum
from fractions import Fraction
from math import isnan, nan
from uuid import UUID

import pytest

from reasoning_replay.transcripts import TranscriptError, dump_jsonl, load_jsonl
from reasoning_replay.transcripts._jsonl_values import KINDS


def saved(messages, **options):
    """What is read of what was written, without a file."""
    file = io.BytesIO()
    dump_jsonl(messages, file, **options)
    file.seek(0)
    return load_jsonl(file)


def same(left, right):
    """Equal and of the same types, all the way down."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return list(left) == list(right) and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    return left == right or (isinstance(left, float) and isnan(left) and isnan(right))


class Says:
    """A class that says something else of its value than it is, as numpy's do."""

    def says(self, *_):
        return "np.thing(1.5)"

    __repr__ = __str__ = isoformat = says

    def __int__(self):
        return 99

    __float__ = __index__ = __int__


class Text(Says, str):
    __slots__ = ()


class Whole(Says, int):
    pass


class Real(Says, float):
    pass


class Old(str, Enum):  # noqa: UP042 - its str() is "Old.X"
    X = "x"


class Number(IntEnum):
    ONE = 1


class Flag(IntFlag):
    A = 1
    B = 2


class Half(float, Enum):
    HALF = 0.5


class Any(Enum):
    NAN = nan
    RAW = b"\x00"
    PAIR = (1, b"x")
    NESTED = Old.X
    MAP = {"a": Old.X}  # noqa: RUF012 - a member


class Kind(StrEnum):
    Y = "y"


SCALARS = [
    (Text("é"), "é"), (Whole(7), 7), (Real(1.5), 1.5), (Whole(10**30), 10**30), (Real("-inf"), float("-inf")), (Real("nan"), nan),
    (Old.X, "x"), (Kind.Y, "y"), (Number.ONE, 1), (Flag.A | Flag.B, 3), (Half.HALF, 0.5),
    (Any.NAN, nan), (Any.RAW, b"\x00"), (Any.PAIR, (1, b"x")), (Any.NESTED, "x"), (Any.MAP, {"a": "x"}),
    (memoryview(b"abcdef")[::2], b"ace"), (memoryview(b"abcdef").cast("H"), b"abcdef"),
    ({Text("k"): 1, Old.X: 2, Kind.Y: 3}, {"k": 1, "x": 2, "y": 3}), (OrderedDict({Number.ONE: Real(2.5)}), {1: 2.5}),
]  # fmt: skip


@pytest.mark.parametrize(("value", "plain"), SCALARS, ids=range(len(SCALARS)))
def test_a_scalar_of_a_class_of_its_own_comes_back_as_the_plain_one(value, plain):
    assert same(list(saved([{"role": "tool", "artifact": [value]}])), [{"role": "tool", "artifact": [plain]}])


ONE_OF_EACH = {
    "bytes": b"\x00\xff", "float": float("-inf"), "tuple": (1, ("a",)), "set": {1}, "frozenset": frozenset({"a"}),
    "datetime": datetime(2026, 11, 30, 22, 5, 1, 7, UTC), "date": date(2026, 11, 30), "time": time(22, 5),
    "decimal": Decimal("1.10"), "uuid": UUID(int=7),
}  # fmt: skip


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "dict"])
def test_a_value_of_every_kind_is_read_back_where_its_class_says_something_else(kind):
    plain = ONE_OF_EACH[kind]
    own = type("Own", (Says, type(plain)), {})
    if kind in ("datetime", "date", "time"):
        value = own.fromisoformat(plain.isoformat())
    else:
        value = own(str(plain)) if kind in ("decimal", "uuid") else own(plain)
    assert type(value) is own
    assert same(list(saved([{"role": "tool", "artifact": value}])), [{"role": "tool", "artifact": plain}])


@pytest.mark.parametrize(
    "value", [Text("é"), Whole(7), Old.X, Kind.Y, Number.ONE, Half.HALF], ids=lambda value: type(value).__name__
)
def test_the_line_is_what_json_writes_of_it(value):
    file = io.BytesIO()
    dump_jsonl([{"role": "tool", "artifact": value}], file)
    assert json.loads(file.getvalue().split(b"\n")[1])["artifact"] == json.loads(json.dumps(value))


def test_numpys_scalars_come_back_as_pythons_and_its_arrays_are_refused():
    np = pytest.importorskip("numpy")
    pairs = [
        (np.float64(0.25), 0.25), (np.float32(0.5), 0.5), (np.int64(-3), -3), (np.uint8(200), 200), (np.bool_(True), True),
        (np.str_("é"), "é"), (np.bytes_(b"x"), b"x"), (np.float64("inf"), float("inf")), (np.array(4), 4),
    ]  # fmt: skip
    (back,) = saved(
        [{"role": "tool", "artifact": [value for value, _ in pairs], "score": {np.int64(1): np.float64("nan")}}]
    )
    assert same(back["artifact"], [plain for _, plain in pairs])
    assert isnan(back["score"][1])
    for value, name in ((np.zeros(2), "ndarray"), (np.longdouble(1) / 3, "longdouble"), (np.complex128(1j), "complex")):
        with pytest.raises(TranscriptError, match=rf"messages\[0\]\.artifact: a {name}"):
            saved([{"role": "tool", "artifact": value}])


@pytest.mark.parametrize("value", [Fraction(1, 3), 1j, object()], ids=["fraction", "complex", "object"])
def test_a_number_that_json_would_change_is_refused_and_default_may_write_it(value):
    message = {"role": "tool", "artifact": value}
    with pytest.raises(TranscriptError, match=r"messages\[0\]\.artifact: a \w+; allowed"):
        saved([message])
    assert [{"role": "tool", "artifact": "as text"}] == list(saved([message], default=lambda _: Text("as text")))


def test_a_number_of_more_digits_than_python_writes_is_refused_with_words():
    for artifact in (10**5000, (10**5000,)):
        with pytest.raises(TranscriptError, match=r"messages\[1\]: a number of too many digits; give it as a text"):
            saved([{"role": "user"}, {"role": "tool", "artifact": artifact}])

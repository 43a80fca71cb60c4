"""JSON numbers: read as the nearest element, written in as few digits as are read back."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pytest

from topos import bf16
from topos.serving import RequestError
from topos.serving.http.numbers import read_numbers, written_numbers

Array = npt.NDArray[Any]


def read(text: str, dtype: Any, *shape: int) -> Array:
    return read_numbers(msgspec.Raw(text.encode()), shape, np.dtype(dtype), "data")


def written(array: Array) -> str:
    return msgspec.json.encode(written_numbers(array)).decode()


def finite(dtype: Any, bits: Array) -> Array:
    array = bits.view(dtype)
    with np.errstate(invalid="ignore"):
        chosen: Array = array[np.isfinite(array)]
    return chosen


def drawn(count: int) -> Array:
    return np.random.default_rng(1).integers(0, 2**32, count, dtype=np.uint32)


@pytest.mark.parametrize("dtype", [np.float16, bf16.dtype])
def test_every_element_of_sixteen_bits_comes_back(dtype: Any) -> None:
    array = finite(dtype, np.arange(2**16, dtype=np.uint16))
    assert read(written(array), dtype, len(array)).tobytes() == array.tobytes()


@pytest.mark.parametrize(("dtype", "bits"), [(np.float32, 20_000), (np.float64, 20_000)])
def test_elements_of_all_magnitudes_come_back(dtype: Any, bits: int) -> None:
    array = finite(dtype, drawn(bits))
    assert read(written(array), dtype, len(array)).tobytes() == array.tobytes()


def test_singles_are_written_in_the_fewest_digits() -> None:
    random = np.random.default_rng(2).standard_normal(3_000).astype(np.float32)
    array = np.concatenate(
        [finite(np.float32, drawn(3_000)), random, np.array([0.1, 1e-40, 16], np.float32)]
    )
    digits = [
        (_digits(repr(value)), _digits(np.format_float_scientific(each, unique=True)))
        for value, each in zip(msgspec.json.decode(written(array)), array, strict=True)
    ]
    # A power of two has a nearer neighbour below than above, and may be a digit longer.
    powers = np.frexp(np.abs(array))[0] == 0.5
    assert all(
        ours == least for (ours, least), power in zip(digits, powers, strict=True) if not power
    )
    assert all(ours <= least + 1 for ours, least in digits)


def _digits(text: str) -> int:
    return len(text.lower().split("e")[0].replace("-", "").replace(".", "").strip("0"))


def test_what_json_lacks_is_written_as_a_word_and_read_again() -> None:
    for dtype in (np.float32, np.float64, np.float16, bf16.dtype):
        array = np.array([np.nan, np.inf, -np.inf, -0.0, 1.5], dtype)
        assert written(array) == '["NaN","Infinity","-Infinity",-0.0,1.5]'
        assert read(written(array), dtype, 5).tobytes() == array.tobytes()


def test_a_signalling_nan_is_written_without_a_warning() -> None:
    assert written(np.array([0x7F800001], np.uint32).view(np.float32)) == '["NaN"]'


def test_whole_numbers_are_written_exactly() -> None:
    array = np.array([2**63 - 1, -(2**63)])
    assert written(array) == f"[{2**63 - 1},{-(2**63)}]"
    assert written(np.array([2**64 - 1], np.uint64)) == f"[{2**64 - 1}]"
    assert written(np.array([[True], [False]])) == "[true,false]"
    assert read(written(array), np.int64, 2).tobytes() == array.tobytes()


def test_a_double_is_rounded_once_to_bfloat16() -> None:
    # Just above the middle of two neighbours, by less than a single can tell.
    assert float(read("[1.0039062500009095]", bf16.dtype, 1)[0]) == 1.0078125
    assert float(read("[-1.0039062500009095]", bf16.dtype, 1)[0]) == -1.0078125
    assert float(read("[1.00390625]", bf16.dtype, 1)[0]) == 1.0


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, bf16.dtype])
def test_a_whole_zero_keeps_its_sign(dtype: Any) -> None:
    array = read("[-0, 0, -0.5, -0e1, -0.0, 1e-0, -0E-0]", dtype, 7).astype(np.float64)
    assert np.signbit(array).tolist() == [True, False, True, True, True, False, True]
    assert array[5] == 1


def test_blanks_before_the_first_row_make_no_difference() -> None:
    assert read(f"[{' ' * 100}[1], [2]]", np.float32, 2, 1).tolist() == [[1], [2]]


def test_a_word_that_is_no_text_is_refused() -> None:
    with pytest.raises(RequestError, match=r"^data: has a word that is not UTF-8$"):
        read_numbers(msgspec.Raw(b'[1,"\xff"]'), (2,), np.dtype(np.float32), "data")


@pytest.mark.parametrize(
    ("dtype", "text"),
    [(np.float16, "[65520]"), (np.float32, "[-3.5e38]"), (bf16.dtype, "[3.4e38]")],
)
def test_what_would_become_infinite_is_refused(dtype: Any, text: str) -> None:
    with pytest.raises(RequestError, match=r"^data: has .* which overflows"):
        read(text, dtype, 1)


def test_the_largest_numbers_below_are_taken() -> None:
    assert read("[65519]", np.float16, 1)[0] == 65504
    assert read("[3.389e38]", bf16.dtype, 1)[0] == np.array(3.389e38).astype(bf16.dtype)


def test_a_long_array_is_refused_by_its_commas() -> None:
    # Were it decoded first, the word at its end would be the fault.
    with pytest.raises(RequestError, match=r"^data: has 1001 values, shape \[3\] needs 3"):
        read(f"[{'1,' * 1000}true]", np.float32, 3)


def test_scalars_and_empty_arrays_have_their_shapes() -> None:
    assert read("[4]", np.int32).shape == ()
    assert read("[]", np.float32, 0).shape == (0,)
    assert read(" [ [1, 2] ,\n [3, 4] ] ".strip(), np.uint8, 2, 2).tolist() == [[1, 2], [3, 4]]

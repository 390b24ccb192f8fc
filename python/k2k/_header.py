"""The header of a safetensors file: 8 bytes of length, JSON, then the tensors' bytes.

Everything is checked before use: the result describes bytes inside the file, in order, without
overlap or hole, and each tensor has the number of bytes of its type and shape.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

LENGTH_BYTES = 8
HEADER_BYTES_MAX = 100_000_000  # The format's own limit.
DIMENSIONS_MAX = 32  # Every version of NumPy accepts this.
TENSOR_BYTES_MAX = 2**62
METADATA = "__metadata__"


class SafetensorsError(ValueError):
    """A file that violates the safetensors format; the message names the tensor."""


@dataclass(frozen=True)
class DType:
    """An element type of the format. `numpy` is little-endian, as the format is."""

    bits: int
    numpy: str  # NumPy's type; if `ml_dtypes` is set, an unsigned integer of the same size.
    ml_dtypes: str = ""  # Its name there, if NumPy itself has none.
    torch: str = ""

    @property
    def packed(self) -> bool:
        """Less than a byte an element: seen as bytes."""
        return self.bits % 8 != 0


DTYPES = {
    "BOOL": DType(8, "?", torch="bool"),
    "U8": DType(8, "u1", torch="uint8"),
    "I8": DType(8, "i1", torch="int8"),
    "U16": DType(16, "<u2", torch="uint16"),
    "I16": DType(16, "<i2", torch="int16"),
    "U32": DType(32, "<u4", torch="uint32"),
    "I32": DType(32, "<i4", torch="int32"),
    "U64": DType(64, "<u8", torch="uint64"),
    "I64": DType(64, "<i8", torch="int64"),
    "F16": DType(16, "<f2", torch="float16"),
    "F32": DType(32, "<f4", torch="float32"),
    "F64": DType(64, "<f8", torch="float64"),
    "C64": DType(64, "<c8", torch="complex64"),
    "BF16": DType(16, "<u2", "bfloat16", "bfloat16"),
    "F8_E4M3": DType(8, "u1", "float8_e4m3fn", "float8_e4m3fn"),
    "F8_E4M3FNUZ": DType(8, "u1", "float8_e4m3fnuz", "float8_e4m3fnuz"),
    "F8_E5M2": DType(8, "u1", "float8_e5m2", "float8_e5m2"),
    "F8_E5M2FNUZ": DType(8, "u1", "float8_e5m2fnuz", "float8_e5m2fnuz"),
    "F8_E8M0": DType(8, "u1", "float8_e8m0fnu", "float8_e8m0fnu"),
    "F6_E2M3": DType(6, "u1", torch="uint8"),
    "F6_E3M2": DType(6, "u1", torch="uint8"),
    "F4": DType(4, "u1", torch="uint8"),
}


@dataclass(frozen=True)
class Entry:
    """A tensor: its bytes are [begin, end) of the file."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


@dataclass(frozen=True)
class Header:
    entries: list[Entry]  # As their bytes lie in the file.
    order: list[str]  # As the header names them.
    metadata: dict[str, str]


def read_header(path: str, file_bytes: int, read: Callable[[int, int], bytes]) -> Header:
    """Reads and checks the header. `read(offset, bytes)` is short only at the file's end.

    SafetensorsError; errors of `read`.
    """
    if file_bytes < LENGTH_BYTES:
        raise SafetensorsError(
            f"{path} has {file_bytes} bytes; a safetensors file begins with 8 of length"
        )
    length = int.from_bytes(_exactly(path, read, 0, LENGTH_BYTES), "little")
    if length > HEADER_BYTES_MAX:
        raise SafetensorsError(
            f"{path}: the header's length is {length}; permitted are {HEADER_BYTES_MAX} bytes. Is "
            "it a safetensors file?"
        )
    data_begin = LENGTH_BYTES + length
    if data_begin > file_bytes:
        raise SafetensorsError(
            f"{path} ends inside its header: {data_begin} bytes are needed, it has {file_bytes}"
        )
    return parse_header(path, _exactly(path, read, LENGTH_BYTES, length), data_begin, file_bytes)


def _exactly(path: str, read: Callable[[int, int], bytes], offset: int, count: int) -> bytes:
    content = read(offset, count)
    if len(content) < count:
        raise SafetensorsError(f"{path} was truncated while its header was read")
    return content


def parse_header(path: str, content: bytes, data_begin: int, file_bytes: int) -> Header:
    """Of the JSON `content`. SafetensorsError."""
    described = _json(path, content)
    metadata = _metadata(path, described.pop(METADATA, {}))
    entries = [_entry(path, name, value, data_begin) for name, value in described.items()]
    in_file = sorted(entries, key=lambda entry: (entry.begin, entry.end))
    _check_places(path, in_file, data_begin, file_bytes)
    return Header(in_file, list(described), metadata)


def _json(path: str, content: bytes) -> dict[str, Any]:
    if content[:1] != b"{":
        raise SafetensorsError(
            f"{path}: the header begins with {content[:1]!r} instead of '{{'. Is it a safetensors "
            "file?"
        )

    def no_constant(name: str) -> Any:
        raise ValueError(f"{name} is no JSON")

    try:
        parsed = json.loads(
            content.decode(), object_pairs_hook=_without_duplicates, parse_constant=no_constant
        )
    except SafetensorsError as error:
        raise SafetensorsError(f"{path}: {error}") from None
    except RecursionError:
        raise SafetensorsError(f"{path}: the header is nested too deeply") from None
    except ValueError as error:  # Also of UTF-8 and of numbers with thousands of digits.
        raise SafetensorsError(f"{path}: the header is no JSON: {error}") from None
    if not isinstance(parsed, dict):  # Cannot be: it begins with a brace.
        raise SafetensorsError(f"{path}: the header is no JSON object")
    return parsed


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise SafetensorsError(f"the header names {key!r} twice")
        if not key.isascii() and any("\ud800" <= letter <= "\udfff" for letter in key):
            raise SafetensorsError(f"the header's key {key!r} is no text: half of a surrogate pair")
        found[key] = value
    return found


def _metadata(path: str, value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        raise SafetensorsError(f"{path}: {METADATA} is no map from text to text")
    return value


def _entry(path: str, name: str, value: Any, data_begin: int) -> Entry:
    where = f"{path}: tensor {name!r}"
    if not isinstance(value, dict):
        raise SafetensorsError(f"{where} is described by {_shown(value)}; expected is an object")
    wanted = {"dtype", "shape", "data_offsets"}
    if value.keys() != wanted:
        missing = ", ".join(sorted(wanted - value.keys()))
        unknown = ", ".join(sorted(map(repr, value.keys() - wanted)))
        says = [f"has no {missing}"] if missing else []
        says += [f"has the unknown {unknown}"] if unknown else []
        raise SafetensorsError(f"{where} {' and '.join(says)}")
    dtype = value["dtype"]
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise SafetensorsError(
            f"{where} has the dtype {_shown(dtype)}; known are {', '.join(sorted(DTYPES))}"
        )
    shape, offsets = value["shape"], value["data_offsets"]
    if not _are_counts(shape) or len(shape) > DIMENSIONS_MAX:
        raise SafetensorsError(
            f"{where} has the shape {_shown(shape)}; expected are at most {DIMENSIONS_MAX} counts"
        )
    if not _are_counts(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        raise SafetensorsError(
            f"{where} has the data_offsets {_shown(offsets)}; expected are begin and end"
        )
    _check_size(where, dtype, shape, offsets[1] - offsets[0])
    return Entry(name, dtype, tuple(shape), data_begin + offsets[0], data_begin + offsets[1])


def _check_size(where: str, dtype: str, shape: list[int], has_bytes: int) -> None:
    bits = DTYPES[dtype].bits
    for extent in shape:
        bits *= extent
    extents = DTYPES[dtype].bits
    for extent in shape:  # NumPy counts empty ones so.
        extents *= max(extent, 1)
    if extents > 8 * TENSOR_BYTES_MAX:
        raise SafetensorsError(f"{where} of shape {_shown(shape)} is larger than any memory")
    if bits % 8 != 0:
        raise SafetensorsError(f"{where} of {dtype} {_shown(shape)} ends within a byte")
    if bits // 8 != has_bytes:
        raise SafetensorsError(
            f"{where} of {dtype} {_shown(shape)} takes {bits // 8} bytes; its data_offsets hold "
            f"{has_bytes}"
        )


def _check_places(path: str, entries: list[Entry], data_begin: int, file_bytes: int) -> None:
    """In the format, each byte behind the header belongs to exactly one tensor."""
    at, before = data_begin, "the header"
    for entry in entries:
        where = f"{path}: tensor {entry.name!r}"
        if entry.begin < at:
            raise SafetensorsError(f"{where} overlaps {before} by {at - entry.begin} bytes")
        if entry.end > file_bytes:
            raise SafetensorsError(
                f"{where} ends at byte {entry.end}, but the file has {file_bytes}: is it truncated?"
            )
        if entry.begin > at:
            raise SafetensorsError(
                f"{path}: {entry.begin - at} bytes between {before} and tensor {entry.name!r} "
                "belong to none"
            )
        at, before = entry.end, f"tensor {entry.name!r}"
    if at != file_bytes:
        raise SafetensorsError(f"{path}: {file_bytes - at} bytes behind {before} belong to none")


def _are_counts(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(each, int) and not isinstance(each, bool) and each >= 0 for each in value
    )


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # A number with thousands of digits.
        return f"a {type(value).__name__}"
    return text if len(text) <= 80 else text[:77] + "..."

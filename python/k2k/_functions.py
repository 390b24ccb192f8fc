"""A Python function as a function of the host that kernels call: types, and errors as errnos."""

import ctypes
import errno
import os
import re
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

WORD_BYTES = 8  # Each value begins at a multiple of so many bytes.
ERRNO_MAX = 4095
TYPE = re.compile(r"\s*(?:(inout|in|out)\s+)?(void|[iufs]\d+)\s*")
FORMATS = {
    **{"i8": "b", "i16": "h", "i32": "i", "i64": "q"},
    **{"u8": "B", "u16": "H", "u32": "I", "u64": "Q"},
    **{"f16": "e", "f32": "f", "f64": "d"},
}  # Of struct and of NumPy.


class Buffer(ctypes.Structure):
    """k2k_buffer of include/k2k/k2k.h"""

    _fields_ = (("data", ctypes.c_void_p), ("bytes", ctypes.c_size_t))


CALLBACK = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(Buffer), ctypes.c_void_p, ctypes.c_void_p
)


@dataclass(frozen=True)
class Parameter:
    type: str  # "i32", "s24"
    direction: str = ""  # Of a buffer: in, out, inout.

    @property
    def format(self) -> str:
        """As struct and NumPy name it; a structure is its bytes."""
        return FORMATS.get(self.type) or f"{self.type[1:]}s"

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(FORMATS.get(self.type) or f"V{self.type[1:]}")


def parameters_of(signature: str) -> tuple[Parameter | None, list[Parameter]]:
    """The reply, None for void, and the parameters. Expects a signature that libk2k takes."""
    reply, _, rest = signature.partition("(")
    texts = [text for text in rest.rpartition(")")[0].split(",") if text.strip()]
    return (None if reply.strip() == "void" else _parameter(reply)), [_parameter(t) for t in texts]


def _parameter(text: str) -> Parameter:
    found = TYPE.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no type of a signature")
    return Parameter(found[2], found[1] or "")


def callback_of(name: str, function: Callable[..., Any], signature: str) -> Any:
    """What libk2k calls. It never raises: an exception is an errno, and a line on stderr."""
    reply, parameters = parameters_of(signature)

    def call(_: int | None, buffers: Any, values: int | None, place: int | None) -> int:
        try:
            arguments = _arguments(parameters, buffers, values)
            returned = function(*arguments)
            if reply is not None:
                packed = struct.pack(reply.format, returned)
                ctypes.memmove(_address(place), packed, len(packed))
            _give_back(parameters, buffers, arguments)
        except BaseException as error:
            code = _errno_of(error)
            _log(name, error, code)
            return -code
        return 0

    return CALLBACK(call)


def _arguments(parameters: list[Parameter], buffers: Any, values: int | None) -> list[Any]:
    """Copies: what the function keeps of them stays valid."""
    arguments: list[Any] = []
    index = offset = 0
    for parameter in parameters:
        if parameter.direction:
            content = ctypes.string_at(buffers[index].data, buffers[index].bytes)
            array = np.frombuffer(content, parameter.dtype)
            arguments.append(array if parameter.direction == "in" else array.copy())
            index += 1
        else:
            size = struct.calcsize(parameter.format)
            content = ctypes.string_at(_address(values) + offset, size)
            arguments.append(struct.unpack(parameter.format, content)[0])
            offset += (size + WORD_BYTES - 1) // WORD_BYTES * WORD_BYTES
    return arguments


def _give_back(parameters: list[Parameter], buffers: Any, arguments: list[Any]) -> None:
    index = 0
    for parameter, argument in zip(parameters, arguments, strict=True):
        if not parameter.direction:
            continue
        if parameter.direction != "in" and argument.nbytes != 0:
            ctypes.memmove(buffers[index].data, argument.ctypes.data, argument.nbytes)
        index += 1


def _address(place: int | None) -> int:
    assert place is not None  # libk2k gives a place for each value of the signature.
    return place


def _errno_of(error: BaseException) -> int:
    if isinstance(error, OSError) and error.errno is not None and 0 < error.errno <= ERRNO_MAX:
        return error.errno
    return errno.ENOMEM if isinstance(error, MemoryError) else errno.EIO


def _log(name: str, error: BaseException, code: int) -> None:
    try:
        text = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(":")
        line = f"k2k: host function '{name}' raised {text}; its caller gets {os.strerror(code)}"
        print(line, file=sys.stderr, flush=True)
    except Exception:  # There is nowhere to say it.
        pass

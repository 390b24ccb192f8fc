"""How Numba compiles a call of k2k.device: a call of a C function of the device library.

Numba has no types that mypy could read, so what comes from it is Any.
"""

import importlib
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from k2k._serving import device_library

PACKAGE = "'numba-cuda[cu13]', version 0.26 or later"
PRINT_VALUES_MAX = 32  # Of the device library.

# The kinds of parameters, and what they are in C.
COUNT = "a number of 32 bits"
WORD = "a number of 64 bits"
PATH = "a path"  # const char*
MEMORY = "memory"  # const void*, size_t
RESULT = "memory for results"  # void*, size_t

# calls::PrintType
INTEGER, NATURAL, NUMBER, BOOLEAN, TEXT = 0, 1, 2, 4, 5

Function = TypeVar("Function", bound=Callable[..., Any])


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"k2k.device is for kernels of Numba: pip install {PACKAGE} ({error})"
        ) from None


_extending = _module("numba.cuda.extending")
_types = _module("numba.cuda.types")
_errors = _module("numba.cuda.core.errors")
_typing = _module("numba.cuda.typing")
_cgutils = _module("numba.cuda.cgutils")
_ir = _module("llvmlite.ir")
if not hasattr(_extending, "intrinsic") or not hasattr(_extending, "overload"):
    raise ImportError(f"k2k.device needs a newer Numba: pip install {PACKAGE}")

_int32, _int64 = _ir.IntType(32), _ir.IntType(64)
_pointer = _ir.PointerType(_ir.IntType(8))


def kernel_call(symbol: str, *kinds: str) -> Callable[[Function], Function]:
    """Makes a function with a body of its documentation alone callable in kernels."""

    def decorate(function: Function) -> Any:
        parameters = list(inspect.signature(function).parameters.values())
        gives = inspect.signature(function).return_annotation is not None

        def typed(_context: Any, *given: Any) -> Any:
            left = [p.name for p in parameters[len(given) :] if p.default is p.empty]
            if left or len(given) > len(parameters):
                raise _errors.TypingError(
                    f"k2k.device.{function.__name__}{inspect.signature(function)} is called with "
                    f"{len(given)} arguments"
                )
            wanted = [
                _wanted(f"k2k.device.{function.__name__}(): {parameter.name}", kind, one)
                for parameter, kind, one in zip(parameters, kinds, given, strict=False)
            ]
            # Numba fills in the defaults, as values of these types.
            wanted += [
                _types.int32 if kind == COUNT else _types.int64 for kind in kinds[len(given) :]
            ]

            def lower(context: Any, builder: Any, signature: Any, values: Any) -> Any:
                arguments: list[Any] = []
                for kind, one, value in zip(kinds, signature.args, values, strict=True):
                    arguments += _passed(context, builder, kind, one, value)
                return _call(context, builder, symbol, arguments, gives)

            answer = _types.int64 if gives else _types.void
            return _typing.signature(answer, *wanted), lower

        return _as_intrinsic(function, typed)

    return decorate


def kernel_print(symbol: str) -> Callable[[Function], Function]:
    """The same for a print: the text, and values of any number and type."""

    def decorate(function: Function) -> Any:
        what = f"k2k.device.{function.__name__}()"

        def typed(_context: Any, text: Any, *values: Any) -> Any:
            _need_literal(what, text)
            if len(values) > PRINT_VALUES_MAX:
                raise _errors.TypingError(f"{what} takes at most {PRINT_VALUES_MAX} values")
            wanted = [_printed(what, value) for value in values]

            def lower(context: Any, builder: Any, signature: Any, given: Any) -> Any:
                return _lower_print(context, builder, symbol, signature.args, given)

            return _typing.signature(_types.int64, text, _types.BaseTuple.from_types(wanted)), lower

        return _as_intrinsic(function, typed)

    return decorate


def _as_intrinsic(function: Any, typed: Callable[..., Any]) -> Any:
    typed.__name__ = function.__name__
    typed.__qualname__ = function.__qualname__
    typed.__module__ = function.__module__
    typed.__doc__ = function.__doc__
    # Numba takes the parameters of the calls from here, behind its own.
    signature = inspect.signature(function)
    own = inspect.Parameter("_context", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    typed.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[own, *signature.parameters.values()]
    )
    return _extending.intrinsic(typed)


def _wanted(what: str, kind: str, given: Any) -> Any:
    """The type that a parameter gets from an argument of this type. TypingError."""
    if kind in (COUNT, WORD):
        if not isinstance(given, _types.Integer | _types.Boolean | _types.IntEnumMember):
            raise _errors.TypingError(f"{what} is {given}, which is no integer")
        return _types.int32 if kind == COUNT else _types.int64
    if isinstance(given, _types.UnicodeType | _types.StringLiteral) and kind != RESULT:
        _need_literal(what, given)
        return given
    if not isinstance(given, _types.Array):
        raise _errors.TypingError(f"{what} is {given}; pass an array")
    if given.layout != "C":
        raise _errors.TypingError(f"{what} is {given}, which is not C-contiguous")
    if kind == RESULT and not given.mutable:
        raise _errors.TypingError(f"{what} is {given}, which is read-only")
    if kind == PATH and given.dtype not in (_types.uint8, _types.int8):
        raise _errors.TypingError(f"{what} is {given}; pass an array of bytes")
    return given


def _need_literal(what: str, given: Any) -> None:
    if isinstance(given, _types.UnicodeType):
        raise _errors.RequireLiteralValue(f"{what}: text is a literal")
    if not isinstance(given, _types.StringLiteral):
        raise _errors.TypingError(f"{what}: {given} is no literal of text")


def _passed(context: Any, builder: Any, kind: str, given: Any, value: Any) -> list[Any]:
    """The arguments in C for one argument of the kernel."""
    if kind in (COUNT, WORD):
        return [value]
    if isinstance(given, _types.StringLiteral):
        address, count = _text(context, builder, given)
    else:
        array = context.make_array(given)(context, builder, value)
        address = builder.bitcast(array.data, _pointer)
        count = builder.mul(array.nitems, array.itemsize)
    return [address] if kind == PATH else [address, count]


def _text(context: Any, builder: Any, literal: Any) -> tuple[Any, Any]:
    text = literal.literal_value
    address = context.insert_string_const_addrspace(builder, text)
    return address, _ir.Constant(_int64, len(text.encode()))


def _call(context: Any, builder: Any, symbol: str, arguments: list[Any], gives: bool) -> Any:
    kind = _ir.FunctionType(
        _int64 if gives else _ir.VoidType(), [argument.type for argument in arguments]
    )
    function = _cgutils.get_or_insert_function(builder.module, kind, symbol)
    function.attributes.add("convergent")  # It may hold a barrier.
    library = context.active_code_library
    # cuda.jit(lto=True): Numba's linker, nvJitLink, optimises both together.
    library.add_linking_file(device_library("ltoir" if getattr(library, "_lto", False) else "ptx"))
    answer = builder.call(function, arguments)
    return answer if gives else context.get_dummy_value()


def _printed(what: str, given: Any) -> Any:
    """The type that a printed value is converted to. TypingError."""
    if isinstance(given, _types.UnicodeType | _types.StringLiteral):
        _need_literal(what, given)
        return given
    if isinstance(given, _types.Boolean):
        return _types.boolean
    if isinstance(given, _types.Integer):
        return _types.int64 if given.signed else _types.uint64
    if isinstance(given, _types.Float):
        return _types.float64
    raise _errors.TypingError(f"{what} cannot print {given}: pass numbers and literals of text")


def _lower_print(context: Any, builder: Any, symbol: str, types: Any, given: Any) -> Any:
    text, kinds = types
    values = _cgutils.unpack_tuple(builder, given[1], len(kinds))
    pairs = _cgutils.alloca_once(builder, _int64, size=2 * max(len(kinds), 1))
    sizes = _cgutils.alloca_once(builder, _int64, size=max(len(kinds), 1))
    for at, (kind, value) in enumerate(zip(kinds, values, strict=True)):
        count = _ir.Constant(_int64, 0)
        if isinstance(kind, _types.StringLiteral):
            code = TEXT
            address, count = _text(context, builder, kind)
            bits = builder.ptrtoint(address, _int64)
        elif isinstance(kind, _types.Boolean):
            code, bits = BOOLEAN, builder.zext(value, _int64)
        elif isinstance(kind, _types.Float):
            code, bits = NUMBER, builder.bitcast(value, _int64)
        else:
            code, bits = (INTEGER if kind.signed else NATURAL), value
        for place, word in ((2 * at, _ir.Constant(_int64, code)), (2 * at + 1, bits)):
            builder.store(word, builder.gep(pairs, [_ir.Constant(_int64, place)]))
        builder.store(count, builder.gep(sizes, [_ir.Constant(_int64, at)]))
    arguments = [
        _ir.Constant(_int32, 1),
        *_text(context, builder, text),
        builder.bitcast(pairs, _pointer),
        builder.bitcast(sizes, _pointer),
        _ir.Constant(_int32, len(kinds)),
    ]
    return _call(context, builder, symbol, arguments, gives=True)

"""NumPy's legacy generator in LLVM: MT19937 and the polar method, for `exact`.

M. Matsumoto and T. Nishimura, Mersenne Twister, ACM TOMACS 8, 1998. The normal numbers equal those
of numpy.random.RandomState.normal() digit for digit; one of a pair is kept for the next call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import llvmlite.ir as ll

from psylang.emit.abi import GENERATOR
from psylang.emit.lanes import I1, I32, I64, POINTER

DOUBLE = ll.DoubleType()
WORDS = 624
SHIFT = 397
UPPER = 0x80000000
LOWER = 0x7FFFFFFF
MATRIX = 0x9908B0DF
GENERATOR_BYTES = GENERATOR.itemsize
_FIELDS: Mapping[str, Any] = GENERATOR.fields or {}
POSITION, HAS_GAUSS, GAUSS, SALT = (
    _FIELDS[name][1] for name in ("position", "has_gauss", "gauss", "salt")
)


def _field(builder: Any, state: Any, offset: int) -> Any:
    return builder.gep(state, [I64(offset)], source_etype=ll.IntType(8))


def _word(builder: Any, state: Any, index: Any) -> Any:
    return builder.gep(state, [index], source_etype=I32)


class _Loop:
    """for index in range(begin, end); close() ends the block."""

    def __init__(self, builder: Any, begin: int, end: int) -> None:
        self._builder, self._end = builder, end
        before = builder.block
        self._block = builder.append_basic_block("words")
        builder.branch(self._block)
        builder.position_at_end(self._block)
        self.index = builder.phi(I64)
        self.index.add_incoming(I64(begin), before)

    def close(self) -> None:
        builder = self._builder
        following = builder.add(self.index, I64(1))
        self.index.add_incoming(following, builder.block)
        after = builder.append_basic_block("words.done")
        more = builder.icmp_unsigned("<", following, I64(self._end))
        builder.cbranch(more, self._block, after)
        builder.position_at_end(after)


def _function(module: Any, name: str, result: Any, arguments: list[Any]) -> tuple[Any, Any]:
    function = ll.Function(module, ll.FunctionType(result, arguments), name)
    function.linkage = "internal"
    return function, ll.IRBuilder(function.append_basic_block("entry"))


def _regenerate(module: Any) -> Any:
    """The next 624 words."""
    function, builder = _function(module, "mt_regenerate", ll.VoidType(), [POINTER])
    (state,) = function.args

    def twist(here: Any, following: Any, far: Any) -> None:
        low = builder.load(_word(builder, state, following), typ=I32)
        high = builder.load(_word(builder, state, here), typ=I32)
        mixed = builder.or_(builder.and_(high, I32(UPPER)), builder.and_(low, I32(LOWER)))
        odd = builder.icmp_unsigned("!=", builder.and_(low, I32(1)), I32(0))
        value = builder.xor(
            builder.load(_word(builder, state, far), typ=I32), builder.lshr(mixed, I32(1))
        )
        value = builder.xor(value, builder.select(odd, I32(MATRIX), I32(0)))
        builder.store(value, _word(builder, state, here))

    for begin, end, offset in (
        (0, WORDS - SHIFT, SHIFT),
        (WORDS - SHIFT, WORDS - 1, SHIFT - WORDS),
    ):
        loop = _Loop(builder, begin, end)
        twist(loop.index, builder.add(loop.index, I64(1)), builder.add(loop.index, I64(offset)))
        loop.close()
    twist(I64(WORDS - 1), I64(0), I64(SHIFT - 1))
    builder.ret_void()
    return function


def _next_word(module: Any) -> Any:
    regenerate = _regenerate(module)
    function, builder = _function(module, "mt_word", I32, [POINTER])
    (state,) = function.args
    place = _field(builder, state, POSITION)
    position = builder.load(place, typ=I32)
    used = builder.icmp_unsigned(">=", position, I32(WORDS))
    with builder.if_then(used, likely=False):
        builder.call(regenerate, [state])
    index = builder.select(used, I32(0), position)
    builder.store(builder.add(index, I32(1)), place)
    word = builder.load(_word(builder, state, builder.zext(index, I64)), typ=I32)
    word = builder.xor(word, builder.lshr(word, I32(11)))
    word = builder.xor(word, builder.and_(builder.shl(word, I32(7)), I32(0x9D2C5680)))
    word = builder.xor(word, builder.and_(builder.shl(word, I32(15)), I32(0xEFC60000)))
    builder.ret(builder.xor(word, builder.lshr(word, I32(18))))
    return function


def _uniform(module: Any) -> Any:
    """[0, 1) with 53 bits."""
    following = _next_word(module)
    function, builder = _function(module, "mt_uniform", DOUBLE, [POINTER])
    (state,) = function.args
    first = builder.lshr(builder.call(following, [state]), I32(5))
    second = builder.lshr(builder.call(following, [state]), I32(6))
    high = builder.fmul(builder.uitofp(first, DOUBLE), DOUBLE(67108864.0))
    both = builder.fadd(high, builder.uitofp(second, DOUBLE))
    builder.ret(builder.fdiv(both, DOUBLE(9007199254740992.0)))
    return function


def _normal(module: Any) -> Any:
    uniform = module.globals["mt_uniform"]
    function, builder = _function(module, "mt_normal", DOUBLE, [POINTER])
    (state,) = function.args
    has = _field(builder, state, HAS_GAUSS)
    kept = _field(builder, state, GAUSS)
    with builder.if_then(builder.icmp_unsigned("!=", builder.load(has, typ=I32), I32(0))):
        builder.store(I32(0), has)
        value = builder.load(kept, typ=DOUBLE)
        builder.store(DOUBLE(0.0), kept)
        builder.ret(value)
    draw = builder.append_basic_block("draw")
    found = builder.append_basic_block("found")
    builder.branch(draw)
    builder.position_at_end(draw)
    x, y = (
        builder.fsub(builder.fmul(DOUBLE(2.0), builder.call(uniform, [state])), DOUBLE(1.0))
        for _ in range(2)
    )
    square = builder.fadd(builder.fmul(x, x), builder.fmul(y, y))
    outside = builder.or_(
        builder.fcmp_ordered(">=", square, DOUBLE(1.0)),
        builder.fcmp_ordered("==", square, DOUBLE(0.0)),
    )
    builder.cbranch(outside, draw, found)
    builder.position_at_end(found)
    log = module.globals.get("log") or ll.Function(module, ll.FunctionType(DOUBLE, [DOUBLE]), "log")
    root = ll.Function(module, ll.FunctionType(DOUBLE, [DOUBLE]), "llvm.sqrt.f64")
    ratio = builder.fdiv(builder.fmul(DOUBLE(-2.0), builder.call(log, [square])), square)
    factor = builder.call(root, [ratio])
    builder.store(builder.fmul(factor, x), kept)
    builder.store(I32(1), has)
    builder.ret(builder.fmul(factor, y))
    return function


def _seed(module: Any) -> Any:
    """The generator of a key, and of the salt if it is not zeros: init_by_array (2002). Gives 0."""
    function, builder = _function(module, "mt_seed", DOUBLE, [POINTER, I32])
    state, key = function.args

    def at(index: Any) -> Any:
        return builder.load(_word(builder, state, index), typ=I32)

    def mixed(before: Any, factor: int) -> Any:
        return builder.mul(builder.xor(before, builder.lshr(before, I32(30))), I32(factor))

    def put(index: Any, value: Any) -> None:
        builder.store(value, _word(builder, state, index))

    salts = [
        builder.load(_field(builder, state, SALT + 4 * number), typ=I32) for number in range(2)
    ]
    salted = builder.icmp_unsigned("!=", builder.or_(*salts), I32(0))
    put(I64(0), I32(19650218))
    loop = _Loop(builder, 1, WORDS)
    spread = mixed(at(builder.sub(loop.index, I64(1))), 1812433253)
    put(loop.index, builder.add(spread, builder.trunc(loop.index, I32)))
    loop.close()

    def first(index: Any, before: Any, step: Any) -> None:
        """A step of the first round, whose key has one word or three."""
        place = builder.trunc(builder.urem(step, I64(3)), I32)
        word = key
        for number, salt in enumerate(salts, 1):
            here = builder.icmp_unsigned("==", place, I32(number))
            word = builder.select(here, builder.add(salt, I32(number)), word)
        word = builder.select(salted, word, key)
        put(index, builder.add(builder.xor(at(index), mixed(before, 1664525)), word))

    def second(index: Any, before: Any) -> None:
        value = builder.xor(at(index), mixed(before, 1566083941))
        put(index, builder.sub(value, builder.trunc(index, I32)))

    loop = _Loop(builder, 1, WORDS)
    previous = builder.sub(loop.index, I64(1))
    first(loop.index, at(previous), previous)
    loop.close()
    put(I64(0), at(I64(WORDS - 1)))
    first(I64(1), at(I64(0)), I64(WORDS - 1))
    loop = _Loop(builder, 2, WORDS)
    second(loop.index, at(builder.sub(loop.index, I64(1))))
    loop.close()
    put(I64(0), at(I64(WORDS - 1)))
    second(I64(1), at(I64(0)))
    put(I64(0), I32(UPPER))
    builder.store(I32(WORDS), _field(builder, state, POSITION))
    builder.store(I32(0), _field(builder, state, HAS_GAUSS))
    builder.store(DOUBLE(0.0), _field(builder, state, GAUSS))
    builder.ret(DOUBLE(0.0))
    return function


class Kept:
    """Copies of some generators. place: the address of stream 0's generator; None without
    generators."""

    def __init__(self, builder: Any, place: Any, streams: Sequence[int]) -> None:
        self._builder = builder
        self._pairs: list[tuple[Any, Any]] = []
        for stream in streams if place is not None else ():
            with builder.goto_entry_block():
                copy = builder.alloca(ll.ArrayType(ll.IntType(8), GENERATOR_BYTES))
            copy.align = 8
            copy.type = POINTER
            self._pairs.append((copy, _field(builder, place, stream * GENERATOR_BYTES)))
        for copy, generator in self._pairs:
            self._copy(copy, generator)

    def restore(self) -> None:
        """Restores the generators from the copies."""
        for copy, generator in self._pairs:
            self._copy(generator, copy)

    def _copy(self, to: Any, of: Any) -> None:
        name = "llvm.memcpy.p0.p0.i64"
        module = self._builder.module
        kind = ll.FunctionType(ll.VoidType(), [POINTER, POINTER, I64, I1])
        memcpy = module.globals.get(name) or ll.Function(module, kind, name)
        self._builder.call(memcpy, [to, of, I64(GENERATOR_BYTES), I1(0)])


def generator_functions(module: Any) -> dict[str, Any]:
    """The functions double (state*) of this module, by operation name."""
    uniform = _uniform(module)
    return {
        "random.uniform": uniform,
        "random.normal": _normal(module),
        "random.seed": _seed(module),
    }


__all__ = ["GENERATOR_BYTES", "I1", "generator_functions"]

"""User-defined functions with state, which take their last result, and with draws.

A function draws from a numpy.random.RandomState: NumPy's global one, or one of the modeller's. Here
it has a stream of its own, whose seed is the mechanism's place among the composition's functions
that draw; restart() seeds the modeller's generators so, and both then draw the same numbers.
"""

from __future__ import annotations

import inspect
import types
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psylang.ir.builder import ProgramBuilder
from psylang.ir.graph import Origin
from psylang.ir.interpret import interpret
from psylang.ir.types import DType, Type
from psylang.model.arithmetic import as_float
from psylang.model.errors import ModelError
from psylang.pnl.ports import UserDefined
from psylang.pnl.reading import At, number_of, value_of
from psylang.pnl.refusals import RefusedError
from psylang.pnl.twister import refuse_engine

FIRST_SEED = 1_000_000_000  # PsyNeuLink's own are small.


def keeping(function: Any, written: UserDefined) -> dict[str, Any]:
    """The fields of a Keeping. RefusedError: the function does not give what it takes."""
    kept = function.stateful_parameter
    begins = np.array(value_of(function, kept), dtype=np.float64)
    probe = np.random.RandomState(1).normal(size=np.shape(function.defaults.variable))
    try:
        first = _result(function, written, probe, begins)
        whole = np.broadcast_to(begins, first.shape).copy()
        again = _result(function, written, probe, whole)
        fits = again.shape == first.shape and np.array_equal(again, first)
    except (ModelError, ValueError) as error:
        raise RefusedError(
            f"its function keeps {kept}: {error}", f"a first `{kept}` of its result's shape"
        ) from None
    if not fits:
        raise RefusedError(
            f"its function keeps {kept}, which begins with shape {begins.shape}, and gives shape "
            f"{first.shape}",
            f"a first value of `{kept}` of shape {first.shape}",
        )
    return {"kept": kept, "begins": whole.ravel(), "shape": first.shape}


def _result(
    function: Any, written: UserDefined, variable: NDArray[Any], kept: NDArray[Any]
) -> NDArray[Any]:
    """The result for a variable and a kept value, by the compiler's interpreter."""
    build = ProgramBuilder("function", "exact")

    def constant(array: Any) -> Any:
        one = np.array(array, dtype=np.float64)
        return build.constant(one, Type(DType.F64, one.shape))

    stateful = function.stateful_parameter
    others = [
        constant(kept if name == stateful else number_of(function, name)) for name in written.given
    ]
    data = [constant(variable), *others]
    made = written.function.inline(
        build, data, Origin("function"), lambda kind: build.constant(0.25)
    )
    build.output("result", as_float(build, made))
    return np.array(interpret(build.build())["result"][0])


def generators_of(python: Any) -> list[np.random.RandomState]:
    """The generators that a Python function may draw from."""
    found = inspect.getclosurevars(python)
    seen = [*found.globals.values(), *found.nonlocals.values()]
    made = [one for one in seen if isinstance(one, np.random.RandomState)]
    if "random" in python.__code__.co_names and any(one is np or one is np.random for one in seen):
        made.append(np.random.mtrand._rand)
    return made


def generator_of(function: Any) -> np.random.RandomState | None:
    """The generator of a user-defined function; None: it does not draw. RefusedError: several."""
    python = getattr(function, "custom_function", None)
    if not isinstance(python, types.FunctionType):
        return None
    found = generators_of(python)
    if len(found) > 1:
        raise RefusedError("its function takes draws from several generators", "one generator")
    return found[0] if found else None


def seed_of_function(function: Any, at: At) -> int | None:
    """The seed of a function that draws; None: it does not."""
    generator = generator_of(function)
    if generator is None:
        return None
    refuse_engine(generator)
    seed = FIRST_SEED + next(at.drawing)
    return seed if at.live is None else at.live.of_modeller(generator, seed)

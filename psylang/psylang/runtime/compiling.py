"""compile(): from a model, or a program of the IR, to a Plan."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Protocol

from psylang.ir.graph import Numerics, Program
from psylang.runtime.errors import ArgumentError, ArgumentTypeError
from psylang.runtime.plan import Plan
from psylang.runtime.precision import Precision
from psylang.runtime.specialise import specialised


class Model(Protocol):
    """The models that compile() accepts besides programs of the IR."""

    def program(
        self,
        *,
        numerics: Numerics,
        fix: Mapping[str, Any],
        vary: Collection[str],
        ranges: Mapping[str, tuple[float, float]],
    ) -> Program:
        """The program of one trial. Wrong arguments raise the model's own ValueErrors."""
        ...


def compile(
    model: Model | Program,
    *,
    fix: Mapping[str, Any] | None = None,
    vary: Collection[str] | None = None,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    numerics: Numerics | None = None,
    precision: Precision = "f64",
    use_ranges: bool = False,
    closed_forms: bool = False,
) -> Plan:
    """Makes machine code of a model, or finds it in the cache.

    fix: parameters that become constants. vary: parameters that run() may set, without another
    compilation; all others become constants. None: no parameter of a model, all parameters of a
    program that are not fixed. ranges: (least, greatest) of parameters, which run() checks.
    numerics: "fast" (own mathematics and counted random numbers; the default) or "exact" (libm and
    Mersenne Twister, one trial at a time). A Program has its numerics already.
    precision: "f32" computes with half the digits, faster; arrays stay f64. Of `fast` only.
    use_ranges: leaves out comparisons and guards that `ranges` make idle, and gives LLVM's flags
    nnan and ninf to operations on finite numbers alone (plan.analyse() lists both); the same bits,
    found by analyses of 0.1 to 10 s.
    closed_forms: computes what a loop of a known number of rounds carries without the loop, where
    each round adds a constant, or multiplies by one and adds one (plan.analyse() lists them). The
    rounding differs from the loop's. Of `fast` only.

    ArgumentError, ArgumentTypeError: names, values, ranges, precision. NotSupportedError: f32 of a
    program that looks at the bits of f64. CompileError: LLVM refused. A model's own errors pass
    unchanged.
    """
    if numerics not in (None, "fast", "exact"):
        raise ArgumentError(f"numerics is {numerics!r}; there are 'fast' and 'exact'")
    if isinstance(vary, str):
        raise ArgumentTypeError(f"vary is the text {vary!r}; give a list, vary=[{vary!r}]")
    for name, given in (("fix", fix), ("ranges", ranges)):
        if given is not None and not isinstance(given, Mapping):
            raise ArgumentTypeError(
                f"{name} is {type(given).__name__}; give a mapping, {{name: …}}"
            )
    if closed_forms and (model.numerics if isinstance(model, Program) else numerics) == "exact":
        raise ArgumentError(
            "closed_forms=True rounds otherwise than the loops of `exact`; leave it out, or "
            "compile with numerics='fast'"
        )
    if isinstance(model, Program):
        if numerics not in (None, model.numerics):
            raise ArgumentError(
                f"the program `{model.name}` is written with {model.numerics} numerics; "
                f"numerics={numerics!r} must be asked for where it is built"
            )
        made = specialised(model, fix or {}, vary, ranges or {})
        return Plan(model, made, precision, None, use_ranges, closed_forms)
    if isinstance(model, type) or not callable(getattr(model, "program", None)):
        if callable(model):
            name = getattr(model, "__name__", "model")
            raise ArgumentTypeError(
                f"`{name}` is no model, though calling it may make one: psylang.compile({name}(…))"
            )
        raise ArgumentTypeError(
            f"what is of type {type(model).__name__} is no model; give one of psylang.models, a "
            "psylang.model.Model, or a psylang.ir Program"
        )
    made = model.program(
        numerics=numerics or "fast", fix=fix or {}, vary=vary or (), ranges=ranges or {}
    )
    rules = getattr(model, "rules", None)
    checked = rules(fix) if callable(rules) else None
    return Plan(model, made, precision, checked, use_ranges, closed_forms)

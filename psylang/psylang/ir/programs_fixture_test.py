"""Random programs contain everything that a pass may meet."""

from __future__ import annotations

import math

from hypothesis import HealthCheck, Phase, given, settings

from psylang.ir.graph import Program
from psylang.ir.ops import OPS, STRUCTURED
from psylang.ir.programs_fixture import programs
from psylang.ir.verify import verify


def test_every_operation_shape_and_awkward_number_occurs() -> None:
    seen: set[str] = set()
    depth: set[int] = set()

    def note(program: Program) -> None:
        for op in program.body.walk():
            seen.add(op.name)
            seen.update(f"rank {len(value.type.shape)}" for value in op.results)
            inner = {one.name for region in op.regions for one in region.walk()}
            depth.add(len(inner & STRUCTURED))
            if op.name == "constant" and not op.result.type.shape:
                value = op.attributes["value"]
                if isinstance(value, float):
                    seen.add("-0.0" if value == 0 and math.copysign(1, value) < 0 else str(value))

    @settings(
        max_examples=250,
        deadline=None,
        derandomize=True,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(programs(most=40))
    def generate(program: Program) -> None:
        verify(program)
        note(program)

    generate()
    wanted = {*OPS, *STRUCTURED, "rank 0", "rank 1", "rank 2", "-0.0", "inf", "-inf", "nan"}
    assert seen >= wanted, wanted - seen
    assert max(depth) >= 2, "no operation with regions in one in one"

"""Clones: figures 2.8 and 2.9 of the thesis, and decisions that have a closed form."""

from __future__ import annotations

from dataclasses import replace

import pytest

from psylang.analysis.canonical import Atom, Canonical, Form, of_atom, plus, scaled, times
from psylang.analysis.clones import compare, difference, first_passage
from psylang.errors import ProgramError
from psylang.ir.builder import ProgramBuilder
from psylang.ir.graph import Numerics, Program, Value
from psylang.ir.types import I32
from psylang.model import (
    DriftDiffusion,
    LeakyCompetingIntegrator,
    Model,
    Transfer,
)
from psylang.model.integrators import Integrator
from psylang.model.noise import Normal
from psylang.models import ddm, lca, necker_3, necker_8, necker_vectorised

NECKER = ("excitation", "inhibition", "gain", "x_0", "integration_rate", "noise")
BOTH: list[Numerics] = ["exact", "fast"]


def integrating(integrator: Integrator, numerics: Numerics) -> Program:
    model = Model("integrating")
    node = model.add(Transfer("node", integrator=integrator, reset="never"))
    model.input("x", node)
    model.output("y", node)
    return model.program(numerics)


@pytest.mark.parametrize("numerics", BOTH)
def test_figure_2_8_the_integrators_compute_the_same(numerics: Numerics) -> None:
    """DDI with rate 1 and noise 1 is LCI with leak 0 and N(0, 1), within DDI's thresholds."""
    drift = integrating(DriftDiffusion(rate=1.0, noise=1.0, dt=0.01), numerics)
    leaky = integrating(LeakyCompetingIntegrator(leak=0.0, noise=Normal(), dt=0.01), numerics)
    found = compare(leaky, drift)
    assert found.included
    assert [one.extra for one in found.matches] == [("within min(1, max(-1, …))",)]
    (inner,) = Canonical(leaky).states
    assert len(inner.after.terms) == 3
    leak = integrating(LeakyCompetingIntegrator(leak=0.5, noise=Normal(), dt=0.01), numerics)
    assert not compare(leak, drift).included
    noisy = integrating(DriftDiffusion(rate=1.0, noise=2.0, dt=0.01), numerics)
    assert not compare(leaky, noisy).included


@pytest.mark.parametrize("numerics", BOTH)
def test_figure_2_9_the_cube_is_the_vectorised_cube(numerics: Numerics) -> None:
    nodes = necker_8().program(numerics, vary=NECKER)
    lanes = necker_vectorised().program(numerics, vary=NECKER)
    found = compare(nodes, lanes)
    assert found.equal
    assert len(found.matches) == 32  # A state and an activity for each of 16.
    assert difference(nodes, lanes, found) < 1e-12
    wrong = dict(found.renaming)
    inputs = [atom for atom in wrong if atom.kind == "input"][:2]
    wrong[inputs[0]], wrong[inputs[1]] = wrong[inputs[1]], wrong[inputs[0]]
    assert difference(nodes, lanes, replace(found, renaming=wrong)) > 1e-6


@pytest.mark.parametrize("numerics", BOTH)
def test_figure_2_9_three_vertices_are_in_the_vectorised_cube(numerics: Numerics) -> None:
    """Vertices are compared one by one, because a cube has no triangle. A lane has a third
    neighbour, too."""
    small = necker_3().program(numerics, vary=NECKER)
    large = necker_vectorised().program(numerics, vary=NECKER)
    found = compare(small, large)
    assert found.included
    assert not found.consistent
    assert not found.equal
    assert len(found.matches) == 12
    for one in found.matches:
        (term,) = one.extra
        assert "excitation * " in term
        assert "_activity_" in term
    assert not compare(large, small).included
    with pytest.raises(ProgramError, match="found equal"):
        difference(small, large, found)


def test_a_model_is_its_own_clone() -> None:
    program = necker_3().program("fast", vary=NECKER)
    found = compare(program, program)
    assert found.equal
    assert difference(program, program, found) < 1e-12


def test_formulas_are_equal_however_they_are_written() -> None:
    build = ProgramBuilder("written")
    x, y = build.input("x"), build.input("y")
    one = build.mul(build.add(x, y), build.sub(x, y))
    other = build.fma(x, x, build.neg(build.mul(y, y)))
    build.output("one", one)
    build.output("other", other)
    build.output("third", build.div(build.mul(other, 6.0), 3.0))
    build.output("below", build.lt(x, y))
    build.output("above", build.op("gt", y, x))
    forms = Canonical(build.build()).outputs
    assert forms["one"] == forms["other"]
    assert forms["third"][0] == scaled(forms["one"][0], 2.0)
    assert forms["below"] == forms["above"]


def test_forms_are_sums_of_products() -> None:
    a, b = (of_atom(Atom("input", name)) for name in "ab")
    square = times(plus(a, b), plus(a, b))
    assert str(square) == "2 * a * b + a^2 + b^2"
    assert plus(a, scaled(a, -1.0)).number == 0.0
    assert times(a, Form({})).number == 0.0
    many = plus(*(of_atom(Atom("input", f"x{k}")) for k in range(9)))
    assert len(times(many, many).terms) == 1  # Too many terms: one atom.


def test_a_ddm_has_a_closed_form() -> None:
    program = ddm(stimulus=True).program("fast", vary=["drift", "noise"])
    (found,) = first_passage(program)
    assert found.component == "decision"
    assert str(found.drift) == "0.001 * drift * stimulus"
    assert str(found.threshold) == "1"
    (plain,) = first_passage(ddm().program("exact"))
    assert (str(plain.drift), str(plain.threshold)) == ("0.0003", "1")


def walk(*, leak: float = 0.0, same: bool = False, one_sided: bool = False) -> Program:
    build = ProgramBuilder("walk")
    stream = build.stream("noise")

    def inside(x: Value, n: Value) -> tuple[Value, list[Value]]:
        z = build.normal(stream, step=0 if same else n)
        x = build.add(build.mul(x, 1.0 - leak), build.add(build.mul(z, 0.1), 0.01))
        size = x if one_sided else build.abs(x)
        n = build.add(n, 1)
        return build.and_(build.lt(size, 1.0), build.lt(n, 1000)), [x, n]

    x, n = build.loop([build.constant(0.0), build.constant(0, I32)], inside, 1000)
    build.output("x", x)
    build.output("n", n)
    return build.build()


def test_what_is_no_drift_diffusion_is_not_taken_for_one() -> None:
    assert len(first_passage(walk())) == 1
    assert first_passage(walk(leak=0.1)) == []
    assert first_passage(walk(same=True)) == []  # Every round draws the same number.
    assert first_passage(walk(one_sided=True)) == []
    assert first_passage(lca().program("fast")) == []
    assert first_passage(necker_3().program("fast")) == []

"""run() and search() on a GPU: batches, pieces of long sequences, Ctrl-C, memory, refusals."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import psylang
from psylang import models
from psylang.emit.emit_test import race, remembers
from psylang.ir.builder import ProgramBuilder
from psylang.runtime.cuda import execute, kernel
from psylang.runtime.cuda.driver import OUT_OF_MEMORY, Device, Driver
from psylang.runtime.cuda.gpu_fixture import agree, gpu
from psylang.runtime.library_fixture import GAME
from psylang.runtime.plan_fixture import compiled, session_cache, straight, walk

__all__ = ["compiled", "gpu", "session_cache"]
pytestmark = pytest.mark.usefixtures("compiled")


def launch_at_most(items: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Launches of so many items, as if the GPU were slow. A launch that in truth takes long, on a
    busy computer, shortens none after it."""
    monkeypatch.setattr(kernel, "FIRST_ITEMS", items)
    monkeypatch.setattr(kernel, "GROWTH_MAX", 1)
    monkeypatch.setattr(kernel, "LAUNCH_S", 1e9)


@pytest.fixture
def short_launches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Launches of seven items."""
    launch_at_most(7, monkeypatch)
    monkeypatch.setattr(execute, "TOGETHER_MIN", 2)


@pytest.fixture
def launches(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The launches from now on."""
    made: list[str] = []
    real = Driver.code

    def noted(self: Driver, name: str, *arguments: Any) -> int:
        if name == "cuLaunchKernel":
            made.append(name)
        return real(self, name, *arguments)

    monkeypatch.setattr(Driver, "code", noted)
    return made


def test_arguments_of_every_kind(gpu: Device) -> None:
    params = {"a": np.linspace(0, 1, 9), "w": [3.0, 2.0, 1.0]}
    found = agree(straight(), {"x": np.linspace(-1, 1, 9)}, params, seed=4)
    assert found.run["isa"] == "cuda sm_{}{}".format(*gpu.capability)
    agree(straight(), {"x": 2.0}, params, seed=4)
    agree(straight(), None, None, trials=5)


def test_the_pace_of_launches() -> None:
    pace = kernel.Pace()
    assert pace.begin() == kernel.FIRST_ITEMS
    assert pace.following(1000, 0.001) == 16_000  # Sixteen times as many at most,
    assert pace.following(100_000, 0.1) == 250_000  # for a quarter of a second.
    assert pace.begin() == 50_000  # Other parameters may take longer.
    pace.following(10, 0.01)  # A rest of few trials takes as long as many.
    assert pace.begin() == 50_000
    assert pace.following(100_000, 10.0) == 2500
    assert pace.begin() == kernel.FIRST_ITEMS
    assert pace.following(1, 30.0) == 1


def test_few_trials_are_spread_over_the_gpu(gpu: Device) -> None:
    plan = psylang.compile(straight())
    plan.run(device="cuda")
    (variant,) = plan.gpu_variants()
    few = 2 * 128 * gpu.units
    assert variant.kernel.shape(few) == (few // 32, 32)
    assert variant.kernel.shape(few + 1) == (few // 128 + 1, 128)
    assert variant.kernel.shape(1) == (1, 32)
    agree(straight(), {"x": np.arange(few + 5.0)})


@pytest.mark.usefixtures("gpu", "short_launches")
def test_batches_have_the_same_numbers(launches: list[str]) -> None:
    agree(straight(), {"x": np.arange(40.0)}, {"a": np.arange(40.0)}, seed=4)
    assert len(launches) == 6
    agree(race(), {"bias": np.linspace(-0.5, 0.5, 40)}, seed=5)


@pytest.mark.usefixtures("gpu", "short_launches")
def test_a_long_sequence_is_computed_in_pieces(launches: list[str]) -> None:
    agree(walk(), trials=30)
    assert len(launches) == 5
    rows = np.random.default_rng(1).normal(size=(5, 30))
    agree(remembers(), {"stimulus": rows}, trials=30, sequences=5, seed=3)


@pytest.mark.usefixtures("gpu")
def test_a_search_is_computed_in_pieces(
    monkeypatch: pytest.MonkeyPatch, launches: list[str]
) -> None:
    launch_at_most(200, monkeypatch)
    agree(models.predator_prey(9), GAME, trials=2, seed=3)
    # The first trial: four pieces of at most 200 of 729 candidates, and the rest of the trial. The
    # second: as many candidates as were tried before.
    assert len(launches) == 5 + 2


@pytest.mark.usefixtures("gpu")
def test_many_trials_search_a_thread_each(
    monkeypatch: pytest.MonkeyPatch, launches: list[str]
) -> None:
    monkeypatch.setattr(execute, "SPLIT_TRIALS_MAX", 2)
    agree(models.predator_prey(5), GAME, trials=20, seed=3)
    assert len(launches) == 1


@pytest.mark.usefixtures("gpu", "short_launches")
def test_histograms_and_chosen_outputs() -> None:
    histogram = {"where": (20, -2.0, 2.0)}
    bias = {"bias": np.linspace(-0.5, 0.5, 50)}
    plan = psylang.compile(race())
    gpu_run, cpu_run = (
        plan.run(bias, record=["steps"], histogram=histogram, seed=5, device=device)
        for device in ("cuda", "cpu")
    )
    assert list(gpu_run) == ["steps"]
    assert gpu_run["steps"].tobytes() == cpu_run["steps"].tobytes()
    counts = [one.histograms["where"].counts.tolist() for one in (gpu_run, cpu_run)]
    assert counts[0] == counts[1]


@pytest.mark.usefixtures("gpu")
def test_a_grid_is_searched() -> None:
    plan = psylang.compile(models.ddm(dt=0.02), vary=["drift", "threshold"])
    grid = {"drift": np.linspace(0.1, 1.0, 4), "threshold": np.array([0.5, 0.7])}
    on_gpu, on_cpu = (
        plan.search(grid, objective="response_time", trials=20, seed=3, device=device)
        for device in ("cuda", None)
    )
    for name, table in on_cpu.table.items():
        assert on_gpu.table[name].tobytes() == table.tobytes()
    assert on_gpu.best == on_cpu.best
    assert len(plan.gpu_variants()) == 1  # The GPU has computed the one, not the other.


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_few_registers_change_no_bit(precision: Any) -> None:
    plan = psylang.compile(models.ddm(dt=0.02), precision=precision)
    few = plan.run(trials=20, seed=3, device=psylang.Cuda(registers=32))
    assert few.response_time.tobytes() == plan.run(trials=20, seed=3).response_time.tobytes()
    assert len(plan.gpu_variants()) == 1


@pytest.mark.usefixtures("gpu", "short_launches")
def test_an_interrupted_run_has_its_first_trials() -> None:
    def stop(done: int, total: int) -> None:
        assert total == 40
        if done:
            raise KeyboardInterrupt

    for program in (straight(), walk()):
        plan = psylang.compile(program)
        with pytest.raises(psylang.InterruptedRunError) as caught:
            plan.run(trials=40, device="cuda", progress=stop)
        assert caught.value.done == 7
        whole = plan.run(trials=40)
        for name, part in caught.value.partial.items():
            assert part.tobytes() == whole[name][: caught.value.done].tobytes()


@pytest.mark.usefixtures("gpu")
def test_ptx_comes_from_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PSYLANG_CACHE_DIR", str(tmp_path))
    cached = []
    for _ in range(2):
        plan = psylang.compile(straight())
        plan.run(device="cuda")
        cached += [one.cached for one in plan.gpu_variants()]
    assert cached == [False, True]


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A GPU without memory for more than [0] bytes at once."""
    limit = [0]
    real = Driver.code

    def code(self: Driver, name: str, *arguments: Any) -> int:
        if name == "cuMemAlloc_v2" and arguments[1] > limit[0]:
            return OUT_OF_MEMORY
        return real(self, name, *arguments)

    monkeypatch.setattr(Driver, "code", code)
    return limit


@pytest.mark.usefixtures("gpu")
def test_little_memory_makes_batches_smaller(little_memory: list[int]) -> None:
    little_memory[0] = 256 * 10  # Of which each buffer takes 256.
    agree(straight(), {"x": np.arange(40.0)}, seed=4)
    agree(walk(), trials=100, sequences=2)


@pytest.mark.usefixtures("gpu")
def test_no_memory_is_said(little_memory: list[int]) -> None:
    little_memory[0] = 16
    text = r"GPU: .+ has no 2304 bytes for one trial of `straight` \(\d+ MiB are free\); end other"
    with pytest.raises(psylang.GpuError, match=text):
        psylang.compile(straight()).run(device="cuda")


@pytest.mark.usefixtures("gpu")
def test_the_memory_of_a_run_is_given_back(gpu: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = psylang.compile(straight())
    plan.run(trials=10, device="cuda")  # Its memory is kept for the next run.
    with gpu.current():
        before = gpu.free_bytes()
    monkeypatch.setattr(kernel, "SPARE_BYTES_MAX", 1 << 16)
    for _ in range(3):
        plan.run(trials=10_000, device="cuda")
    with gpu.current():
        assert gpu.free_bytes() >= before


def test_exact_is_refused() -> None:
    plan = psylang.compile(models.ddm(), numerics="exact")
    text = (
        "device='cuda' of `ddm`, which is exact: libm and Mersenne Twister are the CPU's; compile "
        "with numerics='fast', or leave device out"
    )
    with pytest.raises(psylang.NotSupportedError, match=re.escape(text)):
        plan.run(device="cuda")


@pytest.mark.usefixtures("gpu")
def test_too_many_inputs_are_refused() -> None:
    build = ProgramBuilder("wide")
    for number in range(70):
        build.output(f"y{number}", build.input(f"x{number}", default=1.0))
    with pytest.raises(
        psylang.NotSupportedError, match="device='cuda': `wide` has 70 inputs and 140 inputs, "
    ):
        psylang.compile(build.build()).run(device="cuda")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"device": "gpu"}, "device is 'gpu'; there are 'cpu', 'cuda', 'cuda:1' and psylang.Cuda"),
        ({"device": 1}, "device is 1; give 'cpu', 'cuda', 'cuda:1' or psylang.Cuda"),
        ({"device": "cuda", "threads": 2}, "threads is of the CPU, and device='cuda' takes none"),
        ({"device": "cuda", "isa": "avx2"}, "isa is of the CPU, and device='cuda' takes none"),
    ],
)
def test_wrong_devices_are_refused(arguments: dict[str, Any], text: str) -> None:
    with pytest.raises((psylang.ArgumentError, psylang.ArgumentTypeError), match=text):
        psylang.compile(straight()).run(**arguments)


def test_refinement_takes_no_device() -> None:
    plan = psylang.compile(models.predator_prey(2), vary=["fear"])
    with pytest.raises(psylang.ArgumentError, match="method='refine' takes no device"):
        plan.search({"fear": [1.0, 2.0]}, method="refine", device="cuda")  # type: ignore[call-overload]


def test_numbers_of_cuda_are_checked() -> None:
    assert psylang.Cuda(1, registers=64).registers == 64
    with pytest.raises(psylang.ArgumentError, match="Cuda's registers is 8"):
        psylang.Cuda(registers=8)
    with pytest.raises(psylang.ArgumentError, match="Cuda's number is -1"):
        psylang.Cuda(-1)


@pytest.mark.usefixtures("gpu")
def test_a_gpu_that_is_not_there_is_named() -> None:
    with pytest.raises(psylang.ArgumentError, match="device is 'cuda:63'; this machine has cuda:0"):
        psylang.compile(straight()).run(device="cuda:63")

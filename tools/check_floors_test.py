"""Each rule of floors.toml, kept and broken, on a small tree."""

from pathlib import Path

import pytest

import check_floors

PLAN = """
[base]
uses = []
[device]
uses = ["base"]
[runtime]
uses = ["base", "device"]
[outside]
cli = ["runtime"]
[vendor]
headers = ["cuda*", "hip/*"]
allowed = ["src/device/*", "cli/*.cu"]
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path, "floors.toml", PLAN)
    write(tmp_path, "src/base/status.hpp", "#include <cstdint>\n")
    write(tmp_path, "src/device/k2k.hpp", '#include "base/status.hpp"\n#include <cuda.h>\n')
    write(tmp_path, "src/runtime/runtime.hpp", '#include "device/k2k.hpp"\n')
    write(tmp_path, "src/runtime/CMakeLists.txt", "k2k_module(runtime USES base device LIBS fmt)\n")
    write(tmp_path, "cli/main.cpp", '#include "runtime/runtime.hpp"\n#include <k2k/device.hpp>\n')
    return tmp_path


def write(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


def problems(root: Path) -> list[str]:
    return check_floors.problems(root, check_floors.read_plan(root / "floors.toml"))


def test_accepts_a_tree_that_obeys(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check_floors.main(["--root", str(root)]) == 0
    assert capsys.readouterr().out == "3 modules, every arrow points down\n"


@pytest.mark.parametrize(
    ("path", "text", "problem"),
    [
        (
            "src/base/up.hpp",
            '\n  # include "device/k2k.hpp"\n',
            "src/base/up.hpp:2: base may not include device",
        ),
        (
            "src/base/up.cpp",
            "#include <runtime/runtime.hpp>\n",
            "src/base/up.cpp:1: base may not include runtime",
        ),
        (
            "src/base/near.cpp",
            '#include "status.hpp"\n',
            'src/base/near.cpp:1: write the path from src/: "base/…status.hpp"',
        ),
        (
            "src/novel/x.hpp",
            "",
            "src/novel: no module of floors.toml; add it there, above what it uses",
        ),
        (
            "cli/deep.cpp",
            '#include "base/status.hpp"\n',
            "cli/deep.cpp:1: cli may not include base, only runtime",
        ),
        (
            "src/base/gpu.hpp",
            "#include <cuda_runtime.h>\n",
            "src/base/gpu.hpp:1: vendor header cuda_runtime.h may only occur in "
            "src/device/*, cli/*.cu",
        ),
        (
            "cli/gpu.cpp",
            "#include <hip/hip_runtime.h>\n",
            "cli/gpu.cpp:1: vendor header hip/hip_runtime.h may only occur in "
            "src/device/*, cli/*.cu",
        ),
        (
            "src/runtime/CMakeLists.txt",
            "k2k_module(runtime\n  USES base  # device\n  LIBS device\n)\n",
            "src/runtime/CMakeLists.txt: USES base, floors.toml: base device",
        ),
        (
            "src/runtime/CMakeLists.txt",
            "add_library(runtime)\n",
            "src/runtime/CMakeLists.txt: no k2k_module(runtime …)",
        ),
        (
            "src/CMakeLists.txt",
            "foreach(module IN ITEMS base runtime device)\n",
            "src/CMakeLists.txt: the modules must be, in this order: base device runtime",
        ),
    ],
)
def test_names_what_breaks_a_rule(root: Path, path: str, text: str, problem: str) -> None:
    write(root, path, text)
    assert problems(root) == [problem]


def test_allows_vendor_headers_where_the_plan_says(root: Path) -> None:
    write(root, "cli/kernel.cu", "#include <cuda_runtime.h>\n")
    assert problems(root) == []


def test_refuses_a_plan_whose_arrows_point_up(root: Path) -> None:
    write(
        root,
        "floors.toml",
        '[base]\nuses = ["device"]\n[device]\nuses = []\n[runtime]\nuses = ["device"]\n',
    )
    assert problems(root)[0] == "floors.toml: base uses device, which is not below it"


def test_a_broken_plan_is_told_without_traceback(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(root, "floors.toml", "[base]\n")
    assert check_floors.main(["--root", str(root)]) == 2
    assert "write `uses = []`" in capsys.readouterr().err

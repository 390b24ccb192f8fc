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
    write(tmp_path, "cli/main.cpp", '#include "runtime/runtime.hpp"\n#include <k2k/runtime.hpp>\n')
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
            "src/base/door.cpp",
            '#include "k2k/runtime.hpp"\n',
            "src/base/door.cpp:1: base may not include runtime",
        ),
        (
            "cli/kernel.cpp",
            "#include <k2k/k2k.h>\n#include <k2k/device.hpp>\n",
            "cli/kernel.cpp:2: cli may not include device, only runtime",
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
def test_names_the_file_that_breaks_a_rule(root: Path, path: str, text: str, problem: str) -> None:
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


ROOMS = PLAN.replace(
    """[runtime]
uses = ["base", "device"]
""",
    """[runtime]
uses = ["base", "device"]
[runtime.rooms]
low = ["base"]
high = ["device", "low"]
""",
)


@pytest.fixture
def rooms(root: Path) -> Path:
    write(root, "floors.toml", ROOMS)
    write(root, "src/runtime/low/a.hpp", '#include "base/status.hpp"\n')
    write(root, "src/runtime/high/b.hpp", '#include "runtime/low/a.hpp"\n')
    write(root, "src/runtime/top.hpp", '#include "runtime/high/b.hpp"\n')
    return root


def test_accepts_rooms_that_obey(rooms: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check_floors.main(["--root", str(rooms)]) == 0
    assert capsys.readouterr().out == "3 modules with 2 rooms, every arrow points down\n"


@pytest.mark.parametrize(
    ("path", "text", "problem"),
    [
        (
            "src/runtime/low/up.hpp",
            '#include "runtime/high/b.hpp"\n',
            "src/runtime/low/up.hpp:1: the room runtime/low may not include runtime/high/b.hpp",
        ),
        (
            "src/runtime/low/out.cpp",
            '\n#include "device/k2k.hpp"\n',
            "src/runtime/low/out.cpp:2: the room runtime/low may not include device/k2k.hpp",
        ),
        (
            "src/runtime/high/top.cpp",
            '#include "runtime/runtime.hpp"\n',
            "src/runtime/high/top.cpp:1: the room runtime/high may not include runtime/runtime.hpp",
        ),
        (
            "src/runtime/attic/x.hpp",
            "",
            "src/runtime/attic: no room of runtime in floors.toml; "
            "add it there, above what it uses",
        ),
    ],
)
def test_names_the_file_that_breaks_a_rule_of_rooms(
    rooms: Path, path: str, text: str, problem: str
) -> None:
    write(rooms, path, text)
    assert problems(rooms) == [problem]


def test_the_doors_are_a_room(rooms: Path) -> None:
    plan = ROOMS.replace('low = ["base"]', 'k2k = ["base"]\nlow = ["base", "k2k"]')
    write(rooms, "floors.toml", plan)
    write(rooms, "include/k2k/runtime.hpp", '#include "base/status.hpp"\n')
    write(rooms, "src/runtime/low/a.hpp", "#include <k2k/runtime.hpp>\n")
    write(rooms, "src/runtime/high/b.hpp", "#include <k2k/runtime.hpp>\n")
    write(rooms, "include/k2k/trace.hpp", '#include "runtime/low/a.hpp"\n')
    assert problems(rooms) == [
        "include/k2k/trace.hpp:1: the room runtime/k2k may not include runtime/low/a.hpp",
        "src/runtime/high/b.hpp:1: the room runtime/high may not include k2k/runtime.hpp",
    ]


def test_a_test_in_a_room_may_use_the_modules_of_its_module(rooms: Path) -> None:
    text = '#include "runtime/high/b.hpp"\n#include "device/k2k.hpp"\n'
    write(rooms, "src/runtime/low/a_test.cpp", text)
    assert problems(rooms) == []


def test_the_room_without_a_folder_may_have_a_place_among_the_others(rooms: Path) -> None:
    plan = ROOMS.replace('low = ["base"]', 'low = ["base"]\n"." = ["low"]')
    plan = plan.replace('high = ["device", "low"]', 'high = ["low", "."]')
    write(rooms, "floors.toml", plan)
    write(rooms, "src/runtime/runtime.hpp", '#include "runtime/low/a.hpp"\n')
    write(rooms, "src/runtime/top.hpp", "")
    write(rooms, "src/runtime/high/b.hpp", '#include "runtime/top.hpp"\n')
    assert problems(rooms) == []
    write(rooms, "src/runtime/top.hpp", '#include "runtime/high/b.hpp"\n')
    assert problems(rooms)[0] == (
        "src/runtime/top.hpp:1: the room runtime/. may not include runtime/high/b.hpp"
    )


@pytest.mark.parametrize(
    ("of_low", "problem"),
    [
        ('["high"]', "floors.toml: runtime/low uses high, which is not below it"),
        ('["runtime"]', "floors.toml: runtime/low uses runtime, which is not below it"),
    ],
)
def test_refuses_rooms_whose_arrows_point_up(rooms: Path, of_low: str, problem: str) -> None:
    write(rooms, "floors.toml", ROOMS.replace('low = ["base"]', f"low = {of_low}"))
    assert problem in problems(rooms)


def test_refuses_a_room_with_the_name_of_a_module(rooms: Path) -> None:
    write(rooms, "floors.toml", ROOMS.replace('low = ["base"]', 'low = ["base"]\ndevice = []'))
    assert problems(rooms) == ["floors.toml: the room runtime/device has the name of a module"]


def test_files_for_tests_may_lie_in_a_folder_of_their_own(rooms: Path) -> None:
    write(rooms, "src/runtime/low/x_fixture/x.cpp", '#include "runtime/high/b.hpp"\n')
    assert problems(rooms) == []


def test_a_folder_can_be_looked_over(root: Path) -> None:
    for number in range(check_floors.FILES_MAX - 1):
        write(root, f"src/base/f{number}.cpp", "")
    write(root, "src/base/f_test.cpp", "")
    assert problems(root) == []
    write(root, "src/base/more.cpp", "")
    assert problems(root) == ["src/base: 26 files, at most 25 are permitted; make rooms of it"]


def test_no_two_files_include_each_other(root: Path) -> None:
    write(root, "src/base/a.hpp", '#include "base/b.hpp"\n#include "base/a.hpp"\n')
    write(root, "src/base/b.hpp", '#include "base/c.hpp"\n')
    assert problems(root) == [], "a file may include itself, to be expanded with other macros"
    write(root, "src/base/c.hpp", '#include "base/a.hpp"\n')
    (problem,) = problems(root)
    _, circle = problem.split(": a circle of those that include each other: ")
    assert "src/base/a.hpp → src/base/b.hpp" in circle
    assert set(circle.split(" → ")) == {f"src/base/{name}.hpp" for name in "abc"}


@pytest.mark.parametrize(
    "again",
    [
        "from psylang.one import A",
        "from psylang import one",
        "from . import one",
        "import psylang.one",
        "def f():\n    from .one import A",
    ],
)
def test_no_two_modules_of_psylang_import_each_other(root: Path, again: str) -> None:
    write(root, "psylang/psylang/__init__.py", "from psylang.one import A\n")
    write(root, "psylang/psylang/one.py", "import numpy\nfrom psylang.two import B\n")
    write(root, "psylang/psylang/two.py", "import os\n")
    assert problems(root) == []
    write(root, "psylang/psylang/two.py", again + "\n")
    (problem,) = problems(root)
    assert "a circle of those that import each other: psylang." in problem


def test_a_class_has_no_more_member_functions_than_the_plan_permits(root: Path) -> None:
    write(root, "floors.toml", PLAN + "[limits]\nmethods = 2\n")
    write(root, "src/base/a.hpp", "class A {\n  void f();\n  void g();\n};\n")
    write(root, "tests/b.hpp", "class B {\n  void f();\n  void g();\n  void h();\n};\n")
    assert problems(root) == []
    write(root, "shim/c.cpp", "\nclass C {\n  void f();\n  void g();\n  void h();\n};\n")
    assert problems(root) == [
        "shim/c.cpp:2: C has 3 member functions, at most 2 are permitted; make objects of its parts"
    ]


def test_a_class_of_python_has_the_same_limit(root: Path) -> None:
    write(root, "floors.toml", PLAN + "[limits]\nmethods = 2\n")
    method = "    def {}(self) -> None: ...\n"
    write(root, "tools/a.py", "class A:\n" + method.format("f") + method.format("g") * 2)
    assert problems(root) == []
    write(root, "python/b.py", "class B:\n" + "".join(map(method.format, "fgh")))
    assert problems(root) == [
        "python/b.py:1: B has 3 member functions, at most 2 are permitted; make objects of its "
        "parts"
    ]


def test_a_file_whose_classes_cannot_be_told_is_a_problem(root: Path) -> None:
    write(root, "floors.toml", PLAN + "[limits]\nmethods = 2\n")
    write(root, "src/base/a.hpp", "\nclass A {\n")
    assert problems(root) == [
        "src/base/a.hpp: its classes cannot be told: line 2: no closing bracket"
    ]
    write(root, "src/base/a.hpp", "class A {};\n")
    write(root, "tools/a.py", "class A:\n")
    (problem,) = problems(root)
    assert problem.startswith("tools/a.py: its classes cannot be told: ")

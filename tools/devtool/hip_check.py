"""./dev check --only hip: the same kernels compile for an AMD GPU. Compiled, never run.

Device code only: no HIP backend exists yet that would launch the kernels.
"""

from devtool.console import Status
from devtool.environment import BUILD_PACKAGES, Package, need_packages
from devtool.process import run
from devtool.tree import BUILD, ROOT, files, shown

PACKAGES = (
    Package("hipcc", "hipcc"),
    Package("libamdhip64-dev"),
    Package("rocm-device-libs"),
)
ARCHITECTURE = "gfx90a"
WORK = BUILD / "hip"
KERNELS = (
    "apps/comd/kernel.cpp",
    "apps/graph500/kernel.cpp",
    "apps/grep/kernel.cpp",
    "apps/memcached/kernel.cpp",
    "apps/miniamr/kernel.cpp",
    "apps/minife/kernel.cpp",
    "apps/signal_search/kernel.cpp",
    "apps/wordcount/kernel.cpp",
    "tests/conformance/gpu/hip_kernels.cpp",
    "tests/conformance/gpu/hip_generators.cpp",
)


def check_hip() -> tuple[list[str], str]:
    """Returns the problems found and a note for the table of steps."""
    need_packages((*BUILD_PACKAGES, *PACKAGES))
    WORK.mkdir(parents=True, exist_ok=True)
    sources = [ROOT / path for path in KERNELS]
    sources += list(files(".cpp", under="examples"))
    problems = []
    kernels = 0
    with Status(f"hipcc {ARCHITECTURE}") as status:
        for source in sources:
            status.update(source.name)
            assembly = WORK / f"{source.stem}.s"
            done = run(
                [
                    *("hipcc", "-x", "hip", f"--offload-arch={ARCHITECTURE}"),
                    *("--cuda-device-only", "-S", "-std=c++20", "-O2", "-Wall", "-Wextra"),
                    "-Qunused-arguments",  # hipcc adds options that only linking uses.
                    *(f"-I{ROOT}", f"-I{ROOT / 'src'}", f"-I{ROOT / 'include'}"),
                    *(source, "-o", assembly),
                ]
            )
            if done.returncode != 0:
                problems.append(f"{shown(source)} does not compile for HIP:\n{done.stdout}")
                continue
            found = assembly.read_text().count(".amdhsa_kernel ")
            if found == 0:
                problems.append(f"{shown(source)}: hipcc made no kernel of it")
            kernels += found
    return problems, f"{kernels} kernels for {ARCHITECTURE}; compiled, never run"

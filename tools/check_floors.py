"""k2k check-floors: prove that the include arrows only point down.

floors.toml lists the modules of src/ from the ground up with what each may use. A module may only
name modules listed before it, so a graph that obeys the file has no cycle. The CMake targets must
say the same, the folders outside src/ may only use the doors listed for them, and the headers of
GPU vendors stay in the places named there.
"""

import argparse
import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">\n]+)[">]', re.MULTILINE)
MODULE_CALL = re.compile(r"^\s*k2k_module\(\s*(\w+)([^)]*)\)", re.MULTILINE)
MODULE_LIST = re.compile(r"foreach\(module IN ITEMS([^)]*)\)")
KEYWORDS = {"USES", "LIBS", "TEST_LIBS", "EXCLUDE"}
SOURCES = {".hpp", ".cpp", ".h", ".c", ".cuh", ".cu", ".inl"}


@dataclass(frozen=True)
class Plan:
    """What floors.toml says."""

    modules: dict[str, set[str]]  # From the ground up; what each may use.
    outside: dict[str, set[str]]  # Folder outside src/ → the modules it may use.
    vendor_headers: list[str]  # Patterns of header names.
    vendor_allowed: list[str]  # Patterns of paths that may include them.


@dataclass(frozen=True)
class Include:
    path: Path  # Relative to the root.
    line: int
    quoted: bool
    name: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="k2k check-floors",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--root", type=Path, default=Path.cwd(), help="repository root")
    root: Path = parser.parse_args(argv).root
    try:
        plan = read_plan(root / "floors.toml")
    except (OSError, ValueError) as error:
        print(f"{root / 'floors.toml'}: {error}", file=sys.stderr)
        return 2

    found = problems(root, plan)
    print("\n".join(found) or f"{len(plan.modules)} modules, every arrow points down")
    return 1 if found else 0


def read_plan(path: Path) -> Plan:
    """Errors: OSError, and ValueError (TOML syntax, or a module without `uses`)."""
    tables = tomllib.loads(path.read_text())
    outside = tables.pop("outside", {})
    vendor = tables.pop("vendor", {})
    for name, table in tables.items():
        if not isinstance(table, dict) or "uses" not in table:
            raise ValueError(f"module {name} does not say what it uses; write `uses = []`")
    return Plan(
        modules={name: set(module["uses"]) for name, module in tables.items()},
        outside={folder: set(uses) for folder, uses in outside.items()},
        vendor_headers=list(vendor.get("headers", [])),
        vendor_allowed=list(vendor.get("allowed", [])),
    )


def problems(root: Path, plan: Plan) -> list[str]:
    return [
        *upward_arrows(plan),
        *unknown_folders(root, plan),
        *forbidden_includes(root, plan),
        *vendor_includes(root, plan),
        *disagreeing_targets(root, plan),
    ]


def upward_arrows(plan: Plan) -> Iterator[str]:
    """Yields the arrows of the plan itself that do not point to an earlier module."""
    below: set[str] = set()
    for name, uses in plan.modules.items():
        for target in sorted(uses - below):
            yield f"floors.toml: {name} uses {target}, which is not below it"
        below.add(name)
    for folder, uses in plan.outside.items():
        for target in sorted(uses - below):
            yield f"floors.toml: outside: {folder} uses {target}, which is no module"


def unknown_folders(root: Path, plan: Plan) -> Iterator[str]:
    """Yields the folders of src/ that the plan does not know."""
    for folder in sorted(path for path in (root / "src").iterdir() if path.is_dir()):
        if folder.name not in plan.modules and any(sources(folder)):
            yield f"src/{folder.name}: no module of floors.toml; add it there, above what it uses"


def forbidden_includes(root: Path, plan: Plan) -> Iterator[str]:
    """Yields the includes that the plan does not allow, as path:line for an editor to open."""
    for name, uses in plan.modules.items():
        for include in includes_under(root, Path("src") / name):
            target, slash, _ = include.name.partition("/")
            if include.quoted and not slash:
                yield f'{include}: write the path from src/: "{name}/…{include.name}"'
            elif (
                slash and (include.quoted or target in plan.modules) and target not in uses | {name}
            ):
                yield f"{include}: {name} may not include {target}"
    for folder, uses in plan.outside.items():
        for include in includes_under(root, Path(folder)):
            target, slash, _ = include.name.partition("/")
            if slash and target in plan.modules and target not in uses:
                allowed = ", ".join(sorted(uses))
                yield f"{include}: {folder} may not include {target}, only {allowed}"


def vendor_includes(root: Path, plan: Plan) -> Iterator[str]:
    """Yields the includes of a vendor's headers outside the places made for them."""
    for top in ["src", *plan.outside]:
        for include in includes_under(root, Path(top)):
            vendor = any(fnmatchcase(include.name, pattern) for pattern in plan.vendor_headers)
            allowed = any(fnmatchcase(str(include.path), p) for p in plan.vendor_allowed)
            if vendor and not allowed:
                places = ", ".join(plan.vendor_allowed)
                yield f"{include}: vendor header {include.name} may only occur in {places}"


def disagreeing_targets(root: Path, plan: Plan) -> Iterator[str]:
    """Yields where CMake's targets and their order differ from the plan."""
    for name, uses in plan.modules.items():
        path = root / "src" / name / "CMakeLists.txt"
        if not path.exists():
            continue
        call = MODULE_CALL.search(path.read_text())
        if call is None or call[1] != name:
            yield f"src/{name}/CMakeLists.txt: no k2k_module({name} …)"
        elif (said := words_after("USES", call[2])) != uses:
            wanted = " ".join(sorted(uses))
            yield f"src/{name}/CMakeLists.txt: USES {' '.join(sorted(said))}, floors.toml: {wanted}"
    listing = root / "src/CMakeLists.txt"
    order = MODULE_LIST.search(listing.read_text()) if listing.exists() else None
    if order and order[1].split() != list(plan.modules):
        wanted = " ".join(plan.modules)
        yield f"src/CMakeLists.txt: the modules must be, in this order: {wanted}"


def words_after(keyword: str, arguments: str) -> set[str]:
    """The words of a CMake call between `keyword` and the next keyword."""
    words: set[str] = set()
    inside = False
    for word in re.sub(r"#.*", "", arguments).split():
        if word in KEYWORDS:
            inside = word == keyword
        elif inside:
            words.add(word)
    return words


def includes_under(root: Path, folder: Path) -> Iterator[Include]:
    for path in sources(root / folder):
        text = path.read_text(errors="replace")
        for match in INCLUDE.finditer(text):
            line = text.count("\n", 0, match.start(1)) + 1
            yield Include(path.relative_to(root), line, match[1] == '"', match[2])


def sources(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix in SOURCES and path.is_file())


if __name__ == "__main__":
    raise SystemExit(main())

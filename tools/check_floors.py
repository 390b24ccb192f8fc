"""k2k check-floors: prove that the include arrows only point down.

floors.toml lists the modules of src/ from the ground up, with the modules that each may use. A
module may only name modules listed before it, so a graph that obeys the file has no cycle. A large
module has rooms, folders with arrows of their own, by the same rule. The CMake targets must have
the same arrows, the folders outside src/ may only use the doors listed for them, and the headers of
GPU vendors stay in the places named there. No two files include each other, directly or by others,
and no two modules of Psylang import each other. No class has more member functions than floors.toml
permits.
"""

import argparse
import ast
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from fnmatch import fnmatchcase
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from class_sizes import class_sizes, python_class_sizes

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">\n]+)[">]', re.MULTILINE)
MODULE_CALL = re.compile(r"^\s*k2k_module\(\s*(\w+)([^)]*)\)", re.MULTILINE)
MODULE_LIST = re.compile(r"foreach\(module IN ITEMS([^)]*)\)")
KEYWORDS = {"USES", "LIBS", "TEST_LIBS", "EXCLUDE"}
SOURCES = {".hpp", ".cpp", ".h", ".c", ".cuh", ".cu", ".inl"}
DOORS = Path("include/k2k")  # The public headers, "k2k/…": a room of `runtime`, where it has rooms.
# Where the size of a class is limited.
CLASSES = ("src", "shim", "emulator", "include", "cli", "apps", "labs", "bench")
PYTHON_CLASSES = ("psylang", "python", "tools")
FILES_MAX = 25  # In a folder of src/, without tests: a reader can look over so many.
PYTHON_PACKAGES = {"psylang": Path("psylang")}  # A package → the folder in which it lies.


@dataclass(frozen=True)
class Plan:
    """The content of floors.toml."""

    modules: dict[str, set[str]]  # From the ground up → the modules that each may use.
    rooms: dict[
        str, dict[str, set[str]]
    ]  # Module → its rooms, from the ground up → the modules and rooms that each may use.
    outside: dict[str, set[str]]  # Folder outside src/ → the modules it may use.
    vendor_headers: list[str]  # Patterns of header names.
    vendor_allowed: list[str]  # Patterns of paths that may include them.
    methods_max: int | None  # Per class, as class_sizes.py counts them. None: no limit.


@dataclass(frozen=True)
class Include:
    path: Path  # Relative to the root.
    line: int
    quoted: bool
    name: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


@dataclass(frozen=True)
class Tree:
    """The C++ files of src/ and of the folders outside it, each read once."""

    includes: dict[Path, list[Include]]  # File, relative to the root → its includes.
    files: dict[Path, list[Path]]  # Folder → the files in it and in folders below it, sorted.

    def includes_under(self, folder: Path) -> Iterator[Include]:
        for path in self.files.get(folder, []):
            yield from self.includes[path]


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
    rooms = sum(map(len, plan.rooms.values()))
    shape = f"{len(plan.modules)} modules" + (f" with {rooms} rooms" if rooms else "")
    print("\n".join(found) or f"{shape}, every arrow points down")
    return 1 if found else 0


def read_plan(path: Path) -> Plan:
    """Errors: OSError, and ValueError (TOML syntax, or a module without `uses`)."""
    tables = tomllib.loads(path.read_text())
    outside = tables.pop("outside", {})
    vendor = tables.pop("vendor", {})
    limits = tables.pop("limits", {})
    for name, table in tables.items():
        if not isinstance(table, dict) or "uses" not in table:
            raise ValueError(f"module {name} does not say what it uses; write `uses = []`")
    return Plan(
        modules={name: set(module["uses"]) for name, module in tables.items()},
        rooms={
            name: {room: set(uses) for room, uses in module["rooms"].items()}
            for name, module in tables.items()
            if "rooms" in module
        },
        outside={folder: set(uses) for folder, uses in outside.items()},
        vendor_headers=list(vendor.get("headers", [])),
        vendor_allowed=list(vendor.get("allowed", [])),
        methods_max=limits.get("methods"),
    )


def read_tree(root: Path, plan: Plan) -> Tree:
    tree = Tree({}, {})
    for top in sorted({Path("src"), DOORS, *map(Path, plan.outside)}):
        for path in sources(root / top):
            file = path.relative_to(root)
            if file in tree.includes:  # DOORS lies in include/.
                continue
            tree.includes[file] = list(includes_of(path, file))
            for folder in file.parents:
                tree.files.setdefault(folder, []).append(file)
    return tree


def problems(root: Path, plan: Plan) -> list[str]:
    tree = read_tree(root, plan)
    return [
        *upward_arrows(plan),
        *upward_arrows_of_rooms(plan),
        *unknown_folders(tree, plan),
        *unknown_rooms(tree, plan),
        *crowded_folders(tree),
        *forbidden_includes(tree, plan),
        *forbidden_includes_of_rooms(tree, plan),
        *vendor_includes(tree, plan),
        *disagreeing_targets(root, plan),
        *circles("include", files_that_include(tree, plan)),
        *circles("import", modules_that_import(root)),
        *large_classes(root, plan),
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


def upward_arrows_of_rooms(plan: Plan) -> Iterator[str]:
    """Yields the arrows of rooms to neither an earlier room nor a module that their module uses."""
    for module, rooms in plan.rooms.items():
        below = set(plan.modules[module])
        for room, uses in rooms.items():
            if room in plan.modules:
                yield f"floors.toml: the room {module}/{room} has the name of a module"
            for target in sorted(uses - below):
                yield f"floors.toml: {module}/{room} uses {target}, which is not below it"
            below.add(room)


def unknown_folders(tree: Tree, plan: Plan) -> Iterator[str]:
    """Yields the folders of src/ that the plan does not name."""
    for folder in folders_in(tree, Path("src")):
        if folder.name not in plan.modules:
            yield f"src/{folder.name}: no module of floors.toml; add it there, above what it uses"


def unknown_rooms(tree: Tree, plan: Plan) -> Iterator[str]:
    """Yields the folders of modules with rooms that are no room."""
    for module, rooms in plan.rooms.items():
        for folder in folders_in(tree, Path("src") / module):
            if folder.name not in rooms:
                yield (
                    f"src/{module}/{folder.name}: no room of {module} in floors.toml; "
                    "add it there, above what it uses"
                )


def folders_in(tree: Tree, parent: Path) -> list[Path]:
    """The folders directly in `parent` that hold C++ files."""
    return sorted(folder for folder in tree.files if folder.parent == parent)


def crowded_folders(tree: Tree) -> Iterator[str]:
    """Yields the folders of src/ that hold more files than a reader can look over."""
    files = tree.files.get(Path("src"), [])
    counts = Counter(path.parent for path in files if not is_for_tests(path))
    for folder, count in sorted(counts.items()):
        if count > FILES_MAX:
            yield f"{folder}: {count} files, at most {FILES_MAX} are permitted; make rooms of it"


def forbidden_includes(tree: Tree, plan: Plan) -> Iterator[str]:
    """Yields the includes that the plan does not allow, as path:line for an editor to open."""
    for name, uses in plan.modules.items():
        for include in tree.includes_under(Path("src") / name):
            target, slash = module_of(include.name)
            if include.quoted and not slash:
                yield f'{include}: write the path from src/: "{name}/…{include.name}"'
            elif (
                slash and (include.quoted or target in plan.modules) and target not in uses | {name}
            ):
                yield f"{include}: {name} may not include {target}"
    for folder, uses in plan.outside.items():
        for include in tree.includes_under(Path(folder)):
            target, slash = module_of(include.name)
            if slash and target in plan.modules and target not in uses:
                allowed = ", ".join(sorted(uses))
                yield f"{include}: {folder} may not include {target}, only {allowed}"


def forbidden_includes_of_rooms(tree: Tree, plan: Plan) -> Iterator[str]:
    """Yields the includes between rooms that the plan does not allow.

    A test may include what its module may include. The room "." is the files in no folder; if the
    plan does not name it, it stands above all rooms.
    """
    for module, rooms in plan.rooms.items():
        for room, uses in rooms.items():
            for include in includes_of_room(tree, module, room):
                parts = include.name.split("/")
                of, _ = module_of(include.name)
                own = of == module
                target = room_of(parts) if own else of
                known = own or target in plan.modules
                if known and not is_for_tests(include.path) and target not in uses | {room}:
                    yield f"{include}: the room {module}/{room} may not include {include.name}"


def includes_of_room(tree: Tree, module: str, room: str) -> Iterator[Include]:
    folder = Path("src") / module
    if (module, room) == ("runtime", DOORS.name):
        return tree.includes_under(DOORS)
    if room != ".":
        return tree.includes_under(folder / room)
    return (include for include in tree.includes_under(folder) if include.path.parent == folder)


def is_for_tests(path: Path) -> bool:
    """A test, a benchmark, or a fixture: a file, or one in a folder of that name."""
    return any(part.split(".")[0].endswith(("_test", "_bench", "_fixture")) for part in path.parts)


def module_of(name: str) -> tuple[str, bool]:
    """The first folder of an include, a door's module for it, and whether there is a folder at all.

    Any folder may include C's doors: they include nothing.
    """
    first, slash, rest = name.partition("/")
    if first == DOORS.name and rest.endswith(".hpp"):
        return ("device" if rest == "device.hpp" else "runtime"), True
    return first, bool(slash)


def room_of(parts: list[str]) -> str:
    """The room of an include within the module, by the parts of its path from src/ or include/."""
    if parts[0] == DOORS.name:
        return parts[0]
    return parts[1] if len(parts) > 2 else "."


def vendor_includes(tree: Tree, plan: Plan) -> Iterator[str]:
    """Yields the includes of a vendor's headers outside the places made for them."""
    for top in ["src", *plan.outside]:
        for include in tree.includes_under(Path(top)):
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


def circles(verb: str, graph: Mapping[str, Iterable[str]]) -> Iterator[str]:
    """Yields a circle of the graph if it has one. Another circle is found once this one is cut."""
    try:
        TopologicalSorter({name: sorted(graph[name]) for name in sorted(graph)}).prepare()
    except CycleError as error:
        # Each file is included by the file behind it.
        circle = list(reversed(error.args[1]))
        yield f"{circle[0]}: a circle of those that {verb} each other: {' → '.join(circle)}"


def files_that_include(tree: Tree, plan: Plan) -> dict[str, set[str]]:
    """Every C++ file → the files of the tree that it includes."""
    folders = [Path(folder) for folder in ("src", *plan.outside)]
    found = {str(path) for folder in folders for path in tree.files.get(folder, [])}
    graph: dict[str, set[str]] = {file: set() for file in found}
    for folder in folders:
        for include in tree.includes_under(folder):
            file = str(include.path)
            for place in ("src/", "", "include/", f"{include.path.parent}/"):
                # A file includes itself to be expanded with other macros.
                if (target := place + include.name) in found and target != file:
                    graph[file].add(target)
                    break
    return graph


def modules_that_import(root: Path) -> dict[str, set[str]]:
    """Each of our Python modules → the modules that it imports, also for types alone."""
    found: dict[str, Path] = {}
    for package, folder in PYTHON_PACKAGES.items():
        for path in sorted((root / folder / package).rglob("*.py")):
            parts = path.relative_to(root / folder).with_suffix("").parts
            found[".".join(parts)] = path
    return {name: set(imported(path, name, found.keys())) - {name} for name, path in found.items()}


def imported(path: Path, name: str, known: Set[str]) -> Iterator[str]:
    """The known modules that a file imports: `from a import b` is a.b if a.b is a module."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            named = [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = name.split(".")[: -node.level] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            named = [(base, alias.name) for alias in node.names]
        else:
            continue
        for module, part in named:
            tries = (f"{module}.{part}", f"{module}.{part}.__init__", module, f"{module}.__init__")
            yield from [meant for meant in tries if meant in known][:1]


def large_classes(root: Path, plan: Plan) -> Iterator[str]:
    """Yields the classes with too many member functions, and the files that cannot be read."""
    if plan.methods_max is None:
        return
    paths = [path for top in CLASSES for path in sources(root / top)]
    paths += [path for top in PYTHON_CLASSES for path in sorted((root / top).rglob("*.py"))]
    for path in paths:
        file = path.relative_to(root)
        try:
            read = python_class_sizes if path.suffix == ".py" else class_sizes
            sizes = read(path.read_text(errors="replace"))
        except (ValueError, SyntaxError) as error:
            yield f"{file}: its classes cannot be told: {error}"
            continue
        for size in sizes:
            if size.methods > plan.methods_max:
                yield (
                    f"{file}:{size.line}: {size.name} has {size.methods} member functions, at most "
                    f"{plan.methods_max} are permitted; make objects of its parts"
                )


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


def includes_of(path: Path, file: Path) -> Iterator[Include]:
    """The includes of the file at `path`, with `file` as their includer."""
    text = path.read_text(errors="replace")
    for match in INCLUDE.finditer(text):
        line = text.count("\n", 0, match.start(1)) + 1
        yield Include(file, line, match[1] == '"', match[2])


def sources(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix in SOURCES and path.is_file())


if __name__ == "__main__":
    raise SystemExit(main())

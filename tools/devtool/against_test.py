"""./dev bench --against: its verdict about two programs, and its answer if it cannot compare."""

import json
import random
from pathlib import Path

import pytest

from devtool import against, main, process, revision, tolerances
from devtool.against import Bench, Figure, Side, verdict
from devtool.console import Refused
from devtool.git_fixture import git
from devtool.speed_measures import Program
from devtool.verdict import Interval


def interval(low: float, mean: float, high: float) -> Interval:
    return Interval(low, mean, high, 10)


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (interval(0.98, 1.0, 1.02), ("same", None)),
        (interval(0.97, 0.98, 0.99), ("same", None)),  # Surely slower, by less than the tolerance.
        (interval(0.80, 0.90, 0.94), ("slower", None)),
        (interval(0.90, 0.94, 0.99), ("slower", None)),
        (interval(1.01, 1.08, 1.15), ("faster", None)),
        (interval(1.01, 1.04, 1.07), ("same", None)),  # Surely not slower.
        (interval(0.93, 0.96, 0.99), ("cannot tell", 144)),
        (interval(0.40, 0.951, 2.3), ("cannot tell", None)),
        (interval(0.80, 0.90, 1.01), ("cannot tell", 3)),
        (interval(0.90, 1.0, 1.11), ("cannot tell", 37)),
    ],
)
def test_a_ratio_is_slower_same_faster_or_open(
    seen: Interval, expected: tuple[str, int | None]
) -> None:
    assert verdict(seen, 0.05) == expected


def test_more_than_1_is_faster_whichever_way_a_figure_goes() -> None:
    up = Figure("pread", "device_gbps", "higher", [4, 4], [8, 8])
    down = Figure("grep", "ms", "lower", [8, 8], [4, 4])
    assert up.seen().mean == pytest.approx(2)
    assert down.seen().mean == pytest.approx(2)


def side(name: str) -> Side:
    return Side(name, Program(Path(name), {}))


def test_turns_are_paired_and_random_and_the_seed_repeats_them() -> None:
    def order(seed: int) -> list[str]:
        ran: list[str] = []

        def run(program: Program) -> dict[str, float]:
            ran.append(str(program.release))
            return {"ms": 1.0 if program.release.name == "now" else 2.0}

        figure = Figure("fake", "ms", "lower")
        bench = Bench("fake", 8, {"ms": "lower"}, run)
        against.measure([bench], side("old"), side("now"), 0, random.Random(seed), [figure])
        assert figure.seen().mean == pytest.approx(2)
        assert [set(ran[at : at + 2]) for at in range(0, 16, 2)] == [{"old", "now"}] * 8
        return ran

    assert order(1) == order(1)
    assert order(1) != order(2)


def test_a_turn_between_whose_runs_the_cores_moved_is_made_again() -> None:
    floors = [100.0, 280.0, 90.0, 95.0, 100.0, 199.0]
    rates = iter(zip([1.0, 3.0, 1.0, 1.0, 1.0, 1.0], floors, strict=True))

    def run(_: Program) -> dict[str, float]:
        rate, floor = next(rates)
        return {"rate": rate, "floor": floor}

    figure = Figure("fake", "rate", "higher")
    bench = Bench("fake", 2, {"rate": "higher"}, run, machine="floor")
    left_out = against.measure([bench], side("a"), side("b"), 0, random.Random(1), [figure])
    assert (figure.before, figure.now, left_out) == ([1.0, 1.0], [1.0, 1.0], {})


def test_a_machine_that_always_moves_gives_no_figure() -> None:
    floors = iter([100.0, 280.0] * 3 * against.TRIES)
    figure = Figure("fake", "floor", "higher")
    bench = Bench(
        "fake", 3, {"floor": "higher"}, lambda _: {"floor": next(floors)}, machine="floor"
    )
    left_out = against.measure([bench], side("a"), side("b"), 0, random.Random(1), [figure])
    assert (figure.now, left_out) == ([], {"fake": 3})


def test_a_figure_that_one_side_lacks_is_no_pair() -> None:
    def run(program: Program) -> dict[str, float]:
        return {"ms": 1.0} if program.release.name == "now" else {}

    figure = Figure("fake", "ms", "lower")
    bench = Bench("fake", 3, {"ms": "lower"}, run)
    against.measure([bench], side("old"), side("now"), 0, random.Random(1), [figure])
    assert figure.now == []


def fake_cli(folder: Path, listed: list[str], then: str = "") -> Side:
    cli = folder / "cli/k2k"
    cli.parent.mkdir(parents=True)
    cli.write_text(f"#!/bin/sh\necho '{json.dumps({'benchmarks': listed})}'\n{then}\n")
    cli.chmod(0o755)
    return Side(folder.name, Program(folder, {}))


def test_a_benchmark_that_the_commit_lacks_is_left_out_and_named(tmp_path: Path) -> None:
    old, now = fake_cli(tmp_path / "old", ["pread"]), fake_cli(tmp_path / "now", ["pread", "new"])
    benches = [against._system("pread", 2, {}), against._system("new", 2, {})]
    left, skipped = against.both_have(benches, old, now)
    assert [bench.name for bench in left] == ["pread"]
    assert skipped == ["new is left out: old has no `k2k bench new`"]
    with pytest.raises(Refused, match="nothing is left to compare"):
        against.both_have(benches[1:], old, now)


def test_a_benchmark_that_misses_a_goal_is_compared_and_one_that_fails_is_not(
    tmp_path: Path,
) -> None:
    missed = fake_cli(tmp_path / "missed", [], "echo '{\"ratio\": 2}'; exit 1")
    failed = fake_cli(tmp_path / "failed", [], "echo; echo no such disk >&2; exit 1")
    bench = against._system("pread", 2, {})
    assert bench.measure(missed.program) == {"ratio": 2}
    with pytest.raises(Refused, match="bench pread --json ended with 1: no such disk"):
        bench.measure(failed.program)


def refused(*arguments: str) -> str:
    with pytest.raises(Refused) as refusal:
        main._dispatch(["bench", "--against", *arguments])
    assert refusal.value.exit_code == 2
    assert "\n" not in str(refusal.value)
    return str(refusal.value)


def test_bad_words_are_one_line_with_the_remedy() -> None:
    assert refused("no-such-commit").startswith(
        "--against: there is no commit no-such-commit here; `git log --oneline` lists them"
    )
    assert refused("HEAD", "nonsense").startswith(
        "--against: no benchmark nonsense; there are: grep, pread, throughput"
    )
    assert refused("HEAD", "--rounds", "1") == "--rounds is 1; an interval needs 2 or more"
    with pytest.raises(Refused, match="--rounds, --seed and --json go with --against COMMIT or "):
        main._dispatch(["bench", "--json"])


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one commit, whose CMakeLists.txt is malformed."""
    root = tmp_path / "root"
    root.mkdir()
    git(root, "init", "-q")
    (root / "CMakeLists.txt").write_text("this is no CMake(\n")
    git(root, "add", ".")
    git(root, "commit", "-qm", "one")
    monkeypatch.setattr(against, "ROOT", root)
    monkeypatch.setattr(against, "FOLDER", tmp_path / "against")
    monkeypatch.setattr("devtool.build.BUILD", tmp_path)
    for module in (against, revision):
        monkeypatch.setattr(module, "run", lambda command: process.run(command, root))
    return root


def test_a_commit_that_does_not_build_names_its_log(repository: Path, tmp_path: Path) -> None:
    sha = against.commit_of("HEAD")
    with pytest.raises(Refused, match=rf"{sha} does not build here: see .*{sha}/build.log; ") as no:
        against.built(sha)
    assert "\n" not in str(no.value)
    assert (tmp_path / "against" / sha / "build.log").read_text()
    assert (tmp_path / "against" / sha / "source/CMakeLists.txt").exists()


def test_a_tree_with_changes_is_known_as_such(repository: Path) -> None:
    assert against.this_tree() == (against.commit_of("HEAD"), False)
    (repository / "new").write_text("")
    assert against.this_tree() == (against.commit_of("HEAD"), True)


def test_a_tree_with_changes_is_not_recorded(repository: Path) -> None:
    (repository / "new").write_text("")
    with pytest.raises(Refused, match=r"commit your changes first, then \./dev bench --against H"):
        against.against("HEAD", [], 0, None, False, True)


def test_a_comparison_of_two_commits_is_recorded(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository / "new").write_text("")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "two")
    milliseconds = iter([80.0, 40.0] * 3)
    bench = against.Bench("grep", 3, {"ms": "lower"}, lambda _: {"ms": next(milliseconds)})
    monkeypatch.setattr(against, "BENCHES", (bench,))
    monkeypatch.setattr(against, "RECORDS", tmp_path / "against.jsonl")
    monkeypatch.setattr(against, "built", lambda _: tmp_path / "old")
    monkeypatch.setattr("devtool.build.build", lambda *_: None)
    monkeypatch.setattr(against, "_listed", lambda _: set())
    monkeypatch.setattr(random.Random, "shuffle", lambda *_: None)
    against.against("HEAD~1", ["grep"], 0, 1, False, True)
    line = json.loads((tmp_path / "against.jsonl").read_text())
    assert line["command"] == "./dev bench --against HEAD~1 grep"
    assert line["against"] == against.commit_of("HEAD~1")
    figure = line["figures"][0]
    assert (figure["figure"], figure["ratio"], figure["verdict"]) == ("ms", 2, "faster")


def test_a_setting_is_compared_with_the_program_without_it(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert repository.exists()
    variables: list[str | None] = []

    def measure(program: Program) -> dict[str, float]:
        variables.append(program.environment.get("K2K_SERVER_WALLS"))
        return {"ms": 80.0}

    monkeypatch.setattr(against, "BENCHES", (against.Bench("grep", 2, {"ms": "lower"}, measure),))
    monkeypatch.setattr(against, "RECORDS", tmp_path / "against.jsonl")
    monkeypatch.setattr("devtool.build.build", lambda *_: None)
    monkeypatch.setattr(against, "_listed", lambda _: set())
    main._dispatch(["bench", "--with", "server.walls=on", "--seed", "1", "--record", "grep"])
    assert sorted(variables, key=str) == [None, None, "on", "on"]
    line = json.loads((tmp_path / "against.jsonl").read_text())
    assert line["command"] == "./dev bench --with server.walls=on grep"
    assert line["now"] == f"{line['against']} server.walls=on"
    for setting in ("walls", "server.walls", "walls=on", "Server.walls=on"):
        with pytest.raises(Refused, match=f"--with takes a setting, .* not {setting}; ") as no:
            main._dispatch(["bench", "--with", setting])
        assert "\n" not in str(no.value)


def test_a_table_has_a_line_a_figure() -> None:
    figure = Figure("grep", "ms", "lower", [80, 80, 81], [40, 41, 40])
    line = against.text([figure], "old", "now", {"grep ms": 0.03}).splitlines()[1]
    assert line.split()[:4] == ["grep", "ms", "80", "40"]
    assert line.endswith("3 %          faster")
    assert against.as_object(figure, {})["verdict"] == "faster"


def test_tolerances_are_recorded_and_read(tmp_path: Path) -> None:
    path = tmp_path / "tolerances.toml"
    assert tolerances.read(path) == {}
    assert tolerances.of("grep ms", {}) == tolerances.DEFAULT
    tolerances.record({"grep ms": Interval(0.96, 1.0, 1.03, 8)}, "abc", "two cores", path)
    tolerances.record({"pread ratio": Interval(0.999, 1.0, 1.001, 8)}, "abc", "two cores", path)
    assert tolerances.read(path) == {"grep ms": 0.042, "pread ratio": tolerances.LEAST}
    assert 'commit = "abc"\nmachine = "two cores"\n' in path.read_text()
    wrong = r"\[a\]: write `tolerance = 0.05`"
    for broken, message in (("[a", "no TOML"), ("[a]\nx = 1\n", wrong)):
        path.write_text(broken)
        with pytest.raises(Refused, match=message):
            tolerances.read(path)


def test_chance_is_no_tolerance(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "tolerances.toml"
    noise = Interval(0.7, 1.0, 1.4, 8)
    tolerances.record({"grep ms": noise, "pread ratio": noise}, "abc", "two cores", path)
    assert "no tolerance of grep ms, pread ratio: two equal builds" in capsys.readouterr().err
    assert 'seen = "1 [0.7, 1.4]"' in path.read_text()
    assert tolerances.read(path) == {}
    steady = Interval(0.96, 1.0, 1.03, 8)
    tolerances.record({"grep ms": steady}, "abd", "two cores", path)
    # Tolerances measured on a quiet machine stay.
    tolerances.record({"grep ms": noise}, "abe", "two cores", path)
    assert tolerances.read(path) == {"grep ms": 0.042}
    assert 'commit = "abd"' in path.read_text()


def test_the_tolerances_of_the_tree_can_be_read() -> None:
    titles = {f"{bench.name} {name}" for bench in against.BENCHES for name in bench.figures}
    assert set(tolerances.read()) <= titles

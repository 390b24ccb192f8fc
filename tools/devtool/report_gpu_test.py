"""The page of GPU runs has the numbers of their records, and says "No run yet" without one."""

import json
from pathlib import Path
from typing import Any

import pytest

from devtool import report_gpu
from devtool.console import Refused
from devtool.report_gpu import FILE_BYTES_MAX, INTRODUCTION, Run, page

SUMMARY = """K2K on a GPU, 2026-11-26T10:00:00Z, commit abc123
driver  580.65.06
host    AMD EPYC, 16 cores, Linux 6.8
passed  capabilities (1.204 s)
FAILED  conformance: exit 1, see conformance.txt and conformance.txt.log
TIMEOUT throughput after 90 s
SKIPPED compute-sanitizer: it is not installed
NOT RUN idle: the time is up
passed  the names of k2k grep by work-item are GNU grep's
noted   the same without the library: pread: Bad address
200 s
"""


def cell(direction: str, state: str, **ways: Any) -> dict[str, Any]:
    return {
        **{"bench": "file_into_device", "direction": direction, "state": state},
        **{"block_kib": 16384, "ways": ways},
        "ratios": {"pinned": {"ratio": 1.5, "low": 1.25, "high": 1.75}},
    }


def record_in(folder: Path, name: str, summary: str = SUMMARY, **files: list[Any]) -> Path:
    run = folder / name
    run.mkdir()
    (run / "summary.txt").write_text(summary)
    for stem, records in files.items():
        (run / f"{stem}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))
    return run


def test_without_a_run_the_page_says_so_and_how_to_make_one(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "missing"):
        text = page(folder)
        assert "**No run yet.**" in text
        assert "bench/gpu/run.sh" in text


def test_a_run_shows_its_device_and_the_outcome_of_each_step(tmp_path: Path) -> None:
    device = {"device": "NVIDIA H100 | 80GB", "driver": "13.0", "compute_units": 132, "halts": True}
    record_in(tmp_path, "2026-11-26-h100", capabilities=[device])
    text = page(tmp_path)
    assert "No run yet" not in text
    assert "## NVIDIA H100 \\| 80GB, 2026-11-26" in text
    for row in (
        "| driver | 580.65.06 |",
        "| host | AMD EPYC, 16 cores, Linux 6.8 |",
        "| CUDA of the driver | 13.0 |",
        "| compute units | 132 |",
        "| halts | yes |",
        "| commit | abc123 |",
        "| capabilities | passed | 1.204 s | – |",
        "| conformance | **failed** | – | exit 1, see conformance.txt and conformance.txt.log |",
        "| throughput | out of time | – | 90 s |",
        "| compute-sanitizer | skipped | – | it is not installed |",
        "| idle | not run | – | the time is up |",
        "| the names of k2k grep by work-item are GNU grep's | passed | – | – |",
        "| the same without the library | noted | – | pread: Bad address |",
    ):
        assert row in text, row


def test_the_figures_of_the_steps_stand_in_their_tables(tmp_path: Path) -> None:
    record_in(
        tmp_path,
        "2026-11-26-h100",
        bus=[{"access": "load", "lanes": 4224, "us": 4.5, "m_per_s": 895.5}],
        memcached=[
            {"requests_per_s": 60000.5, "p50_us": 62.5, "p99_us": 77.5, "lost": 0, "wrong": 0}
        ],
        roundtrip=[{"waves": 8448, "p50_us": 3.25, "p99_us": 7.5}],
        grep=[{"granularity": "work-item", "run": {"seconds": 0.25, "files": 8217, "matches": 9}}],
        turns=[
            {
                **{"turn": 1, "by": "wave", "mcalls": 50.5, "cores": 1.0, "bundle": 62.5},
                **{"rescued": 0.001, "hand_offs": 0, "takeovers": 0, "parks": 3},
            }
        ],
        together=[{"groups": 4, "mib": 16, "one_gbs": 14.5, "together_gbs": 10.25}],
        programs=[{"program": "comd", "mode": "demand", "seconds": 1.401, "kernel_seconds": 1.136}],
        calibrate=[
            {
                "model": {"call_us": 50.5, "direct_gbs": 3.25, "cache_gbs": 11.5},
                "identity": {"engine": "cuda-staging-uring"},
            }
        ],
        file_into_device=[
            {"schema": 1, "cufile": "not installed", "gdrcopy": "GDRCopy: no library"},
            cell(
                *("read", "cold"),
                k2k={"gbs": 3.5, "wrong_words": 0},
                pinned={"gbs": 2.25, "wrong_words": 2},
                direct={"not_measured": "open: Invalid argument"},
            ),
            cell("write", "cached", k2k={"gbs": 1.5, "wrong_words": 0}),
        ],
    )
    text = page(tmp_path)
    for row in (
        "| load | 4,224 | 4.5 | 895.5 |",
        "| median, µs | 3.25 |",
        "| 99th percentile, µs | 77.5 |",
        "| work-item | 250 | 8,217 | 9 |",
        "| page cache, GB/s | 11.5 |",
        "| page cache | block | k2k | pinned | direct | k2k / pinned |",
        "| cold | 16 MiB | 3.5 | 2.25 | – | 1.5 (1.25 to 1.75) |",
        "Words that were wrong: 2. cuFile: not installed. GDRCopy: no library",
        "| 1 | wave | 50.5 | 1 | 62.5 | 0.001 | 0 | 0 | 3 |",
        "| 4 | 14.5 | 10.25 |",
        "| comd | demand | 1401 | 1136 |",
        "**Device memory into files, GB/s**",
    ):
        assert row in text, row


def test_translation_and_page_faults_have_tables(tmp_path: Path) -> None:
    touches = {"order": "random", "lanes": 4096, "pages": 1024, "us_a_page": 1.25}
    faults = {"faults": 512, "us_a_fault": 21.5, "faults_a_s": 46000}
    record_in(
        tmp_path,
        "run",
        translation=[
            {"stride_kib": stride, "footprint_mib": footprint, "ns_a_load": ns}
            for stride, footprint, ns in ((64, 1, 250.5), (64, 1024, 400.0), (2048, 1024, 600.0))
        ],
        managed=[
            {"scene": "device touches new pages", **touches},
            {"scene": "host touches the device's pages", **touches, **faults},
            {"scene": "prefetch, then device touches", "not_measured": "error 801"},
        ],
    )
    text = page(tmp_path)
    for row in (
        "| footprint, MiB | a pointer every 64 KiB, ns | a pointer every 2 MiB, ns |",
        "| 1 | 250.5 | – |",
        "| 1,024 | 400 | 600 |",
        "| device touches new pages | random | 4,096 | 1.25 | – | – | – |",
        "| host touches the device's pages | random | 4,096 | 1.25 | 512 | 21.5 | 46000 |",
        "| prefetch, then device touches: error 801 | – | – | – | – | – | – |",
    ):
        assert row in text, row


def test_interference_shows_its_comparisons_and_an_unquiet_machine(tmp_path: Path) -> None:
    estimate = {"low": 0.1, "mean": 0.25, "high": 0.5}
    measured = {
        **{"victim": "compute", "comparison": "service", "setting": "default", "problem": None},
        **{"run_delay": estimate, "inflation": estimate, "wall": estimate},
        **{"requests_per_s": 125000.4, "pairs": 4},
    }
    missed = {"victim": "none", "comparison": "idle", "setting": "default", "problem": "no time"}
    result = {"kind": "result", "comparisons": [measured, missed], "a_a_contains_0": False}
    record_in(tmp_path, "run", interference=[{"kind": "plan"}, result])
    text = page(tmp_path)
    spread = "+25.0 % ± 20.0"
    row = f"| compute, service | default | {spread} | {spread} | {spread} | 125,000 | 4 |"
    assert row in text
    assert "| none, idle | default | no time | – | – | – | – |" in text
    assert "Equal arms differ" in text
    record_in(tmp_path, "killed", interference=[{"kind": "plan"}])
    assert page(tmp_path).count("k2k lab interference") == 1


@pytest.mark.parametrize("sound", [True, False])
def test_interference_is_as_sound_as_its_equal_arms(tmp_path: Path, sound: bool) -> None:
    result = {"kind": "result", "comparisons": [], "a_a": {"sound": sound}}
    record_in(tmp_path, "run", interference=[{"kind": "plan"}, result])
    assert ("Equal arms differ" in page(tmp_path)) is not sound


def test_python_and_psylang_have_tables(tmp_path: Path) -> None:
    model = {
        **{"model": "ddm", "precision": "f32", "sequences": 1000000, "trials": 1},
        **{"cpu_s": [0.5, 0.4, 0.6], "gpu_s": [0.125, 0.1, 0.2], "ratio": 4.0, "equal": True},
    }
    record_in(
        tmp_path,
        "run",
        python=[
            {"part": "numba", "ok": True},
            {"part": "rates", "ok": True, "way": "read_into", "gigabytes_per_second": 7.25},
            {"part": "rates", "ok": True, "stats": {"reads": 1}},
            {"part": "cupy", "ok": None, "error": "not installed"},
            {"part": "torch", "ok": False, "error": "ValueError: odd"},
        ],
        psylang=[{"gpu": "H100", "threads": 16}, model, {"cases": 1, "unequal": []}],
    )
    text = page(tmp_path)
    for row in (
        "| numba | passed | – |",
        "| rates | passed | way: read_into, gigabytes per second: 7.25 |",
        "| rates | passed | – |",
        "| cupy | skipped | not installed |",
        "| torch | **failed** | ValueError: odd |",
        "beside 16 threads of the CPU",
        "| ddm, f32 | 1,000,000 × 1 | 0.5 | 0.125 | 4 | yes |",
    ):
        assert row in text, row


def test_the_newest_run_comes_first(tmp_path: Path) -> None:
    record_in(tmp_path, "a", capabilities=[{"device": "old"}])
    record_in(tmp_path, "b", SUMMARY.replace("11-26", "12-01"), capabilities=[{"device": "new"}])
    text = page(tmp_path)
    assert 0 < text.index("## new, 2026-12-01") < text.index("## old, 2026-11-26")


def test_a_record_that_cannot_be_read_is_refused_with_its_place(tmp_path: Path) -> None:
    run = record_in(tmp_path, "run", roundtrip=[{"p50_us": 1}])
    with pytest.raises(Refused, match=r"roundtrip\.jsonl has no 'p99_us'"):
        page(tmp_path)
    (run / "roundtrip.jsonl").write_text("{}\nno\n")
    with pytest.raises(Refused, match=r"roundtrip\.jsonl:1|roundtrip\.jsonl:2 is no JSON"):
        page(tmp_path)
    (run / "roundtrip.jsonl").write_text("[1]\n")
    with pytest.raises(Refused, match=r"roundtrip\.jsonl:1 is no object"):
        page(tmp_path)
    (run / "roundtrip.jsonl").unlink()
    (run / "summary.txt").write_text("something else\n")
    with pytest.raises(Refused, match=r"summary\.txt:1 is no head of a run"):
        page(tmp_path)
    (run / "summary.txt").unlink()
    with pytest.raises(Refused, match=r"has no summary\.txt"):
        page(tmp_path)


def test_large_and_foreign_files_are_refused(tmp_path: Path) -> None:
    run = record_in(tmp_path, "run")
    (run / "core").write_text("")
    with pytest.raises(Refused, match="core: a record has summary"):
        Run.of(run)
    (run / "core").unlink()
    (run / "large.jsonl").write_text(" " * (FILE_BYTES_MAX + 1))
    with pytest.raises(Refused, match=r"large\.jsonl: a record has"):
        Run.of(run)


def test_the_page_of_the_tree_is_that_of_its_records() -> None:
    assert page() == report_gpu.PAGE.read_text()
    assert page().startswith(INTRODUCTION)

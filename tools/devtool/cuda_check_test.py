"""Exactly the forbidden instructions are found in machine code."""

from pathlib import Path

import pytest

from devtool import cuda_check
from devtool.cuda_check import (
    Usage,
    newest_glibc,
    psylang_registers,
    system_rmw_in,
    usages_in,
)

SASS = """
                Function : good
        /*0010*/                   ATOMG.E.CAS.64.STRONG.GPU PT, R2, [R4], R6, R8 ;
        /*0020*/                   ST.E.STRONG.SYS [R2.64], R5 ;
        /*0030*/                   LD.E.STRONG.SYS R5, [R2.64] ;
        /*0040*/                   MEMBAR.SC.SYS ;
"""
PTX = """
.visible .entry good(
    ld.acquire.sys.u32 %r1, [%rd1];
    st.release.sys.u32 [%rd1], %r2;
    atom.acq_rel.gpu.cas.b64 %rd2, [%rd3], %rd4, %rd5;
    fence.acq_rel.sys;
"""


def test_loads_stores_and_fences_at_system_scope_are_no_read_modify_write() -> None:
    assert system_rmw_in(SASS + PTX) == []


def test_every_kind_of_read_modify_write_at_system_scope_is_named_with_its_kernel() -> None:
    for planted in (
        "ATOM.E.ADD.64.STRONG.SYS PT, R2, [R4], R6",
        "ATOMG.E.EXCH.STRONG.SYS PT, R2, [R4], R6",
        "RED.E.ADD.STRONG.SYS [R2.64], R5",
        "REDG.E.ADD.S32.STRONG.SYS [R2.64], R5",
        "atom.acq_rel.sys.add.u32 %r1, [%rd1], %r2",
        "atom.sys.global.cas.b64 %rd1, [%rd2], %rd3, %rd4",
        "red.relaxed.sys.global.add.u32 [%rd1], %r1",
    ):
        code = SASS.replace("good", "bad") + f"        /*0050*/   {planted} ;\n"
        found = system_rmw_in(code)
        assert len(found) == 1, planted
        assert "in bad:" in found[0]


def test_usage_is_read_from_the_assembler_s_report() -> None:
    report = """
ptxas info    : 14 bytes gmem
ptxas info    : Compiling entry function '_Zkernel' for 'sm_90'
ptxas info    : Function properties for _Zkernel
    160 bytes stack frame, 184 bytes spill stores, 176 bytes spill loads
ptxas info    : Used 32 registers, used 1 barriers, 160 bytes cumulative stack size, 4560 bytes smem
"""
    assert list(usages_in(report)) == [Usage("_Zkernel", 32, 160, 184, 176, 4560)]


def test_the_newest_glibc_is_found_by_number() -> None:
    assert newest_glibc("GLIBC_2.9 memcpy\nGLIBC_2.34 x\nGLIBC_2.4 y") == (2, 34)
    assert newest_glibc("nothing") == (0, 0)


def test_psylang_s_table_is_written_and_a_refusal_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho table of $4\n")
    python.chmod(0o755)
    monkeypatch.setattr(cuda_check, "need_python_tools", lambda: tmp_path)
    monkeypatch.setattr(cuda_check, "PSYLANG_TABLE", tmp_path / "table.txt")
    assert psylang_registers(Path("toolkit")) == []
    text = (tmp_path / "table.txt").read_text()
    assert text == "table of --arch\n\ntable of psylang.models:predator_prey\n"
    python.write_text("#!/bin/sh\necho psylang: ptxas refuses; exit 1\n")
    assert psylang_registers(Path("toolkit")) == [
        "the kernels of Psylang's models: psylang: ptxas refuses"
    ]

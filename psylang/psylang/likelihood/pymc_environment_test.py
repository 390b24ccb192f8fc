"""A missing PyMC and one of another version are errors with the remedy."""

from __future__ import annotations

import importlib.metadata
import sys

import pytest

from psylang.errors import PsylangError
from psylang.likelihood import pymc as likelihoods
from psylang.likelihood.pymc_environment import PyMCError, pymc, supported

DATA = {"rt": [0.5, 0.7], "choice": [1, 0]}


def test_without_pymc_each_function_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    says = r"PyMC is not installed.*pip install 'psylang\[pymc\]'"
    with pytest.raises(PyMCError, match=says):
        likelihoods.ddm("trials", DATA, v=0.5, a=1.0)
    with pytest.raises(PyMCError, match=says):
        likelihoods.ddm_log_density(DATA, v=0.5, a=1.0)
    nothing: dict[str, float] = {}
    with pytest.raises(PyMCError, match=says):
        likelihoods.simulated("trials", None, DATA, nothing)  # type: ignore[arg-type]
    with pytest.raises(PyMCError, match=says):
        likelihoods.simulated_log_density(None, DATA, nothing)  # type: ignore[arg-type]
    assert issubclass(PyMCError, PsylangError)
    assert issubclass(PyMCError, ImportError)


@pytest.mark.parametrize("version", ["4.4.0", "5.27.1", "6.0.0", "nightly"])
def test_another_version_is_refused(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda _: version)
    says = rf"PyMC {version} is installed; psylang needs at least 5\.28, below 6\.0: pip install"
    with pytest.raises(PyMCError, match=says):
        pymc()


def test_a_broken_pymc_is_installed_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda _: "5.28.5")
    monkeypatch.setitem(sys.modules, "pymc", None)
    with pytest.raises(PyMCError, match=r"PyMC 5\.28\.5 cannot be imported .*install it anew"):
        pymc()


def test_supported_versions() -> None:
    known = ["5.28.0", "5.28.5", "5.30.1", "5.28.0rc1"]
    assert [one for one in known if supported(one)] == known
    assert [one for one in ("", "5", "5.x", "5.9.2", "6.0.0", "4.28.0") if supported(one)] == []

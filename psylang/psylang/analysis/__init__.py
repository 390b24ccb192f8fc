"""Analyses of a model: ranges of its values, components without effect, and consequences.

Use Plan.analyse(); analyse() takes a program of the IR.
"""

from psylang.analysis.picture import PictureError
from psylang.analysis.report import Finding, Report, analyse

__all__ = ["Finding", "PictureError", "Report", "analyse"]

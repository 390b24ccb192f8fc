"""Analyses of a model: what its values may be, what matters, and what follows from it.

Plan.analyse() is the way in; analyse() takes a program of the IR.
"""

from psylang.analysis.picture import PictureError
from psylang.analysis.report import Finding, Report, analyse

__all__ = ["Finding", "PictureError", "Report", "analyse"]

"""Likelihoods of choices and response times, and parameters that are fitted to data.

psylang.likelihood.ddm_log_density(rt, choice, v=0.5, a=1.4, z=0.5, t=0.3)
"""

from psylang.likelihood.ddm import ddm_density, ddm_log_density
from psylang.likelihood.errors import LikelihoodError

__all__ = ["LikelihoodError", "ddm_density", "ddm_log_density"]

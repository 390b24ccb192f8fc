"""Runs on NVIDIA GPUs: the driver, kernels and their launches."""

from psylang.runtime.cuda.options import Cuda, cuda_of

__all__ = ["Cuda", "cuda_of"]

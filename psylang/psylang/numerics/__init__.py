"""The numerics of `fast`: mathematics and random numbers, written in the IR's own operations.

Every target computes the same bits, because the additions, multiplications and fused multiply-adds
are the same everywhere. passes.expand and the interpreter use `expansions()`.
"""

from psylang.numerics.expansions import expansions

__all__ = ["expansions"]

"""File data into memory by the fastest mix of page cache and direct transfers; a runtime whose
kernels call functions of this program; and system calls of kernels that Numba, CuPy, PyTorch or
cuda.core launch (serve(), the module k2k.device).

>>> import k2k, numpy
>>> buffer = numpy.empty(1 << 20, dtype=numpy.uint8)
>>> k2k.read_into(buffer, "model.bin", offset=4096)
1048576
>>> tensors = k2k.load_safetensors("model.safetensors", progress=True)
>>> tensors["embed.weight"].numpy()
>>> k2k.load_safetensors("model.safetensors", device="cuda")["embed.weight"].torch()
>>> with k2k.Runtime() as runtime:
...     runtime.provide("weigh", lambda factor, values: factor * values.sum(), "f64(i32,in f32)")
...     runtime.launch(ctypes.CDLL("./kernels.so").weigh_all, groups=8, group_items=64)

Every function may be called from any thread. The first call that needs libk2k.so loads it; see
LibraryError.
"""

from k2k._device_tensor import DeviceTensor
from k2k._files import read_into, stats
from k2k._header import SafetensorsError
from k2k._library import LibraryError
from k2k._load import Progress, Tensors, load_safetensors
from k2k._registered import register_memory, unregister_memory
from k2k._runtime import Runtime
from k2k._serving import Serving, device_library, get_include, serve
from k2k._tensor import Tensor

__version__ = "0.1.0"

__all__ = [
    "DeviceTensor",
    "LibraryError",
    "Progress",
    "Runtime",
    "SafetensorsError",
    "Serving",
    "Tensor",
    "Tensors",
    "device_library",
    "get_include",
    "load_safetensors",
    "read_into",
    "register_memory",
    "serve",
    "stats",
    "unregister_memory",
]

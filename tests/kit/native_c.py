"""Kernels in C as the machine's own C compiler has them: an independent route to what they mean."""

import ctypes
import itertools
import shutil
import subprocess

import numpy as np

from cyclebound.golden.dataflow.kernel import Float, Floats, Ints

_COUNT = itertools.count()
COMPILER = shutil.which("gcc") or shutil.which("cc")

# What OpenCL and CUDA have and C has not.
SHIM = """
#include <stdbool.h>
#include <stdlib.h>
#include <tgmath.h>
#define __kernel
#define __global
#define __constant
#define __global__
#define min(x, y) ((y) < (x) ? (y) : (x))
#define max(x, y) ((x) < (y) ? (y) : (x))
typedef unsigned int uint;
static struct { uint x; } blockIdx, blockDim = {1}, threadIdx;
static uint get_global_id(uint dimension) { return threadIdx.x; }
"""


def _type(kernel, name):
    kind = kernel.parameters[name]
    return ("float" if kind in (Float, Floats) else "unsigned" if name in kernel.unsigned
            else "int")


class Native:
    """The kernels of a text, compiled."""

    def __init__(self, text, kernels, folder):
        driver = []
        for name, kernel in kernels.items():
            given = ", ".join(
                f"arguments[{k}]" if kernel.parameters[parameter] in (Floats, Ints)
                else f"*({_type(kernel, parameter)} *)arguments[{k}]"
                for k, parameter in enumerate(kernel.parameters))
            driver.append(f"void run_{name}(uint threads, void **arguments) {{\n"
                          f"    for (threadIdx.x = 0; threadIdx.x < threads; threadIdx.x++)\n"
                          f"        {name}({given});\n}}\n")
        name = f"native{next(_COUNT)}"  # a library of the same name would not be loaded again
        source, library = folder / f"{name}.c", folder / f"{name}.so"
        source.write_text(f"{SHIM}#line 1\n{text}\n{''.join(driver)}")
        subprocess.run([COMPILER, "-std=gnu11", "-O1", "-w", "-fwrapv", "-ffp-contract=off",
                        "-frounding-math", "-fno-strict-aliasing", "-fPIC", "-shared",
                        str(source), "-o", str(library), "-lm"],
                       check=True, capture_output=True, timeout=120)
        self.kernels, self.library = kernels, ctypes.CDLL(str(library))

    def run(self, name, arrays, threads, /, **constants):
        """Memory afterwards, as words."""
        kernel = self.kernels[name]
        words = {array: np.ascontiguousarray(values).view(np.uint32).copy()
                 for array, values in arrays.items()}
        kinds = {"float": np.float32, "int": np.int32, "unsigned": np.uint32}
        numbers = {constant: np.array([value], kinds[_type(kernel, constant)])
                   for constant, value in constants.items()}
        pointers = [(words | numbers)[parameter].ctypes.data for parameter in kernel.parameters]
        getattr(self.library, f"run_{name}")(
            ctypes.c_uint(threads), (ctypes.c_void_p * len(pointers))(*pointers))
        return words


def alike(one, other, floats):
    """Bit by bit; of floats, a NaN is a NaN."""
    differ = one != other
    if floats:
        differ &= ~(np.isnan(one.view(np.float32)) & np.isnan(other.view(np.float32)))
    return not differ.any()

"""Kernels on the SIMD accelerator: models, RTL, bounds, and the published figures."""

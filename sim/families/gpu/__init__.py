"""CUDA kernels: estimates, traces and pages."""

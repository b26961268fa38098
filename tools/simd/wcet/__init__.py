"""Worst-case execution times of kernels: a bound for every content of their buffers."""

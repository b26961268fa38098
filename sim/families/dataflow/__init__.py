"""Kernels on the dataflow grid."""

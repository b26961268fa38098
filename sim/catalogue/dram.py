"""Blocks of the path to DRAM."""

BLOCKS = ()

"""Delays of DRAM requests, as tables."""

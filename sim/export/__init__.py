"""Verilog of a block by itself, and proofs that it is the block."""

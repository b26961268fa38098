"""Designs as netlists: yosys, modules in Verilog and VHDL, gates."""

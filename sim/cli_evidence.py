"""Commands that give Verilog, proofs and FPGA figures."""

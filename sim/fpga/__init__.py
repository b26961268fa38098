"""Clock rate and area, from yosys and nextpnr."""

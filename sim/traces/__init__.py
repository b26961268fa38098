"""Waveforms of other tools, through a block's probes."""

"""Pictures and waveforms, as SVG."""

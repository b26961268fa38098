"""Layers and networks on the systolic accelerator."""

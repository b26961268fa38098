"""Applications on the many-core's memory path."""

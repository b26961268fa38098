"""What the tests of SHMAC's core share with those of the SIMD accelerator."""

from ..simd.conftest import run_together

__all__ = ["run_together"]

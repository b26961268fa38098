"""The worst-case execution time of a program on SHMAC's core: docs/shmac.md."""

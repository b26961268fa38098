"""Programs on SHMAC's grids of tiles."""

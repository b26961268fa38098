"""What every room needs: errors, shapes of values, the cache and what its keys are made from."""

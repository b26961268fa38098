"""All jobs of the chosen blocks, their results in one folder, and the committed baseline."""

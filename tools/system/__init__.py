"""Jobs on several tiles: which tile runs which, and in what order."""

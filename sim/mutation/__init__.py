"""How many planted faults the checks detect."""

"""Programs for networks and what they lead to: allocations of banks, windows and slots."""

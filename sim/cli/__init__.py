"""The command line ``cyclebound``."""

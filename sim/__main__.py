"""``python -m cyclebound.sim`` is ``cyclebound``."""

from cyclebound.sim.cli.main import main

if __name__ == "__main__":
    main()

"""A datapath in steps, with registers after as many of them as the clock needs.

No block: part of the reciprocal unit and of the lane, whose models, testbenches and tests cover it.
"""

from amaranth.hdl import Module, Signal, Value

from cyclebound.hdl.parameters import check_integer

__all__ = ["check_stages", "registered_after", "run_steps"]


def check_stages(stages, steps):
    """Raise unless ``stages`` is an integer from 1 to the number of steps."""
    check_integer("stages", stages, least=1, most=steps)


def registered_after(number, *, stages, steps):
    """Whether there is a register after step ``number``, the first being 1.

    Stages are spread evenly, and the last step always ends in one.
    """
    return number * stages // steps > (number - 1) * stages // steps


def run_steps(m: Module, steps, *, stages):
    """Write the steps into ``m``, one after the other; returns what the last one leaves.

    Parameters
    ----------
    m : Module
        The registers are in its domain ``sync``, and have no reset.
    steps : sequence of callables
        Each takes the values that the one before it has left, a dictionary of `Value` by name, and
        returns another: all that later steps need.
    stages : int
        Registers between first and last, 1 to ``len(steps)``.

    Returns
    -------
    dict of Signal
        ``stages`` cycles after the inputs that the first step reads.
    """
    values = {}
    for number, step in enumerate(steps, 1):
        registered = registered_after(number, stages=stages, steps=len(steps))
        left = {}
        for name, value in step(values).items():
            value = Value.cast(value)
            left[name] = Signal(value.shape(), name=f"{name}_{number}", reset_less=registered)
            (m.d.sync if registered else m.d.comb).__iadd__(left[name].eq(value))
        values = left
    return values

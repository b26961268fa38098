"""What bound checkers have in common: they see every port of a component, and drive none."""

from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Watcher"]


class Watcher(wiring.Component):
    """Has every port of its target as an input, under the same name.

    Parameters
    ----------
    target : wiring.Component
        What to watch, or anything with the same members.
    """

    def __init__(self, target):
        super().__init__(_inputs(target.signature))


def _inputs(signature):
    """The same members, all of them inputs."""
    return {name: (In(member.shape) if member.is_port else
                   Out(wiring.Signature(_inputs(member.signature))))  # `In` would turn its members
                  .array(*member.dimensions)
            for name, member in signature.members.items()}

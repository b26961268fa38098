"""How long SHMAC's network with two channels takes for its requests and responses."""

from typing import Annotated

from cyclebound.golden.bound import Range, prediction

__all__ = ["alone"]

Links = Annotated[int, Range(0, says="links between the two tiles")]

_ROUTER = 3  # cycles from one router to the next


@prediction(formula="3 (h + 1) + 1", source="this project")
def alone(*, links: Links) -> int:
    """A request's way to its slave, or a response's to its master, without other traffic.

    Counted from the cycle in which it is on offer to the first router, to the one in which the last
    router hands it over, both included; h links away there are h + 1 routers.

    Derivation: a packet that a router takes in cycle T is decoded there, asks in T + 1, crosses in
    T + 2 and is on offer in T + 3, when the next router takes it.
    """
    return _ROUTER * (links + 1) + 1

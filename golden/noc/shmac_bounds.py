"""Worst-case formulas of SHMAC's routers."""

from cyclebound.golden.bound import bound, check_count
from cyclebound.golden.noc.shmac_packet import IN_CYCLES, OUT_CYCLES, RELEASE_CYCLES

__all__ = ["handshake_accept", "handshake_hop"]

_TURN = OUT_CYCLES + RELEASE_CYCLES  # from one grant of an output to the next


@bound(formula="1 + 5 + 5 + 6 (N - 1)", source="this project; the 5 + 5 from SHMACsim, Figure 5.7")
def handshake_hop(*, contenders: int) -> int:
    """A packet's way through one router against the other ``contenders`` - 1 inputs at its output.

    Counted from the cycle in which an input without a packet takes it, to the cycle in which the
    output hands it over, both included; receivers acknowledge at once.

    Derivation: the packet asks 5 cycles after it was taken. Round robin lets one packet of each
    other input go before it. An output is busy for 5 cycles with each, and rests for the cycle in
    which the handshake ends, so that grants are 6 cycles apart; if one of them is in progress, it
    counts as its input's. Its own 5 cycles follow its grant.
    """
    check_count("contenders", contenders)
    return 1 + IN_CYCLES + OUT_CYCLES + _TURN * (contenders - 1)


@bound(formula="5 + 6 N", source="this project; the 5 from SHMACsim, Figure 5.7")
def handshake_accept(*, contenders: int) -> int:
    """How long a master is held by a packet that it sends behind another one.

    Counted from the first cycle of the request to its acknowledge, both included; both packets are
    for an output with ``contenders`` inputs, and receivers acknowledge at once.

    Derivation: the one before was taken in cycle T at the latest, and acknowledged in T + 5; this
    one is requested in T + 6 at the earliest. The one before hands over in T + 10 + 6 (N - 1) by
    `handshake_hop`; the input takes this one in the cycle after, and acknowledges 5 later.
    """
    check_count("contenders", contenders)
    return IN_CYCLES + _TURN * contenders

"""End-to-end bound of a write through the network to DDR3 (memory-composition, Eq. 1 to 7 and V).

Everything is as printed; what this project puts in its place is in ``composition_corrected.py``.
A time is a `Duration`: a formula that the paper gets away with only because its NoC and its local
memory share a clock converts explicitly here.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from cyclebound.golden.noc.units import Clock, Duration
from cyclebound.golden.noc.visible_timing import timing
from cyclebound.golden.parameters import check_integer
from cyclebound.golden.sram.bounds import eq1

__all__ = ["Path", "Transaction", "row_conflict", "row_hit"]


def row_conflict() -> Duration:
    """t_req^max: a read of another row after a write, 54 DDR cycles = 67.5 ns (section V.B.2).

    tWR is printed as 17 cycles; DDR3-1600 has 12, and then the same sum is 49.
    """
    return timing("WR") + timing("RP") + timing("RCD") + timing("CAS") + timing("BURST")


def row_hit() -> Duration:
    """t_req^1: reads of one row and nothing else, 15 DDR cycles = 18.75 ns (section V.B.2)."""
    return timing("CAS") + timing("BURST")


def _check_integers(thing: object, least: dict[str, int]) -> None:
    for name, low in least.items():
        check_integer(name.replace("_", " "), getattr(thing, name), low)


@dataclass(frozen=True)
class Path:
    """A flow's path from local memory to DDR3; the defaults are Table III and section V.B.

    Attributes
    ----------
    memory_mhz, noc_mhz : int
        f_mem and f_NoC.
    word_bytes, flit_bytes : int
        w_mem and s_flit.
    payload_flits, header_flits : int
        s_pk^max and s_header, in flits.
    router_cycles : int
        delta_R, in NoC cycles.
    routers : int
        N_R.
    window, period : int
        L and T, in NoC cycles.
    requests_per_packet : int
        N_req^pk: requests to DDR3 that a packet becomes.
    queue : int
        n: entries of the reorder queue.

    Raises
    ------
    TypeError, ValueError
        For a count that is none, for a window longer than its period, or for one in which not a
        single packet of full size crosses.
    """

    memory_mhz: int = 600
    noc_mhz: int = 600
    word_bytes: int = 8
    flit_bytes: int = 4
    payload_flits: int = 64
    header_flits: int = 2
    router_cycles: int = 5
    routers: int = 4
    window: int = 512
    period: int = 1024
    requests_per_packet: int = 2
    queue: int = 8

    def __post_init__(self) -> None:
        _check_integers(self, {name: 0 if name in ("header_flits", "router_cycles") else 1
                               for name in self.__dataclass_fields__})
        if self.window > self.period:
            raise ValueError(f"window must be at most the period of {self.period} cycles, not "
                             f"{self.window}")
        if self.window < self.packet_crossing.amount:
            raise ValueError("window must be at least the crossing of one packet, "
                             f"{self.packet_crossing}, not {self.window}")

    @cached_property
    def memory(self) -> Clock:
        """Clock of the local memory."""
        return Clock.at("memory cycles", self.memory_mhz)

    @cached_property
    def noc(self) -> Clock:
        """Clock of the network."""
        return Clock.at("NoC cycles", self.noc_mhz)

    @property
    def packet_flits(self) -> int:
        """Flits of a packet of full size, headers among them."""
        return self.payload_flits + self.header_flits

    @property
    def packet_bytes(self) -> int:
        """Bytes of payload in a packet of full size."""
        return self.payload_flits * self.flit_bytes

    @property
    def first_flit(self) -> Duration:
        """lambda = N_R (delta_R + 1), in NoC cycles."""
        return self.noc(self.routers * (self.router_cycles + 1))

    def crossing(self, flits: int) -> Duration:
        """t_NoC = lambda + N_flits, in NoC cycles."""
        return self.first_flit + self.noc(flits)

    @property
    def packet_crossing(self) -> Duration:
        """t_pk^NoC: a packet of full size, 90 NoC cycles in the paper's example."""
        return self.crossing(self.packet_flits)

    @property
    def packets_by_network(self) -> int:
        """Eq. 5, N_pk^NoC: packets of full size that cross in one window."""
        return int((self.noc(self.window) - self.first_flit).amount // self.packet_flits)


@dataclass(frozen=True)
class Transaction:
    """A transaction over a `Path`, and the formulas for it as printed.

    Attributes
    ----------
    path : Path
        The stages that a write passes.
    nbytes : int
        s_trans.
    requesters : int
        N_req: requesters on the bank of local memory, this one among them.
    competitors : int
        N_trans^max, of which the paper gives no value: masters with requests for DDR3.
    """

    path: Path
    nbytes: int = 4096
    requesters: int = 1
    competitors: int = 1

    def __post_init__(self) -> None:
        _check_integers(self, {"nbytes": 1, "requesters": 1, "competitors": 1})

    def in_memory(self, nbytes: int) -> Duration:
        """Eq. 1 for ``nbytes`` bytes, in memory cycles (the paper: in seconds)."""
        return self.path.memory(eq1(transaction_bytes=nbytes, word_bytes=self.path.word_bytes,
                                    requesters=self.requesters))

    @property
    def t1(self) -> Duration:
        """Phase 1: the core fills the bank. Row t_1 of Table IV, in memory cycles."""
        return self.in_memory(self.nbytes)

    @property
    def packet_read(self) -> Duration:
        """t_pk^SRAM: reading one packet's payload from the bank, in memory cycles."""
        return self.in_memory(self.path.packet_bytes)

    @property
    def packets(self) -> int:
        """N_pk: packets of the transaction."""
        return -(-self.nbytes // self.path.packet_bytes)

    @property
    def packets_by_memory(self) -> int:
        """Eq. 6, N_pk^SRAM: packets that can be read from the bank during one window."""
        cycles = self.path.noc(self.path.window).to(self.path.memory).amount
        words = int(cycles / self.requesters)  # the floor of s_L
        return words * self.path.word_bytes // self.path.packet_bytes

    @property
    def packets_per_window(self) -> int:
        """N_pk^L: the lesser of Eq. 5 and Eq. 6."""
        return min(self.path.packets_by_network, self.packets_by_memory)

    @property
    def windows(self) -> int:
        """N_L: windows that the transaction takes. Raises `ValueError` if a window sends nothing.
        """
        if self.packets_per_window == 0:
            raise ValueError("packets in a window must be at least 1, not 0: by Eq. 6, "
                             f"{self.requesters} requesters leave too few words for one")
        return -(-self.packets // self.packets_per_window)

    @property
    def flow(self) -> Duration:
        """t_phi = N_L T, in NoC cycles."""
        return self.windows * self.path.noc(self.path.period)

    @property
    def wait(self) -> Duration:
        """Delta^max = T - L, as printed."""
        return self.path.noc(self.path.period - self.path.window)

    def rounds(self, requests: int) -> int:
        """Eq. 3, N_round^max: rounds of arbitration until ``requests`` have crossed the front end.
        """
        return requests * self.competitors

    def eq4(self, requests: int) -> Duration:
        """Eq. 4: ``requests`` requests of one master, in DDR cycles.

        The 2n - 1 is the residence in the reorder queue, which its four rules do not guarantee.
        """
        return (self.rounds(requests) + 2 * self.path.queue - 1) * row_conflict()

    @property
    def eq7(self) -> Duration:
        """Eq. 7 as printed, b_DDR: packets *divided* by requests per packet, in DDR cycles."""
        return self.eq4(-(-self.packets_per_window // self.path.requests_per_packet))

    @property
    def eq7_times(self) -> Duration:
        """Eq. 7 as its symbols are defined: packets *times* requests per packet, in DDR cycles."""
        return self.eq4(self.packets_per_window * self.path.requests_per_packet)

    def _in_noc(self, *durations: Duration) -> Duration:
        return sum((duration.to(self.path.noc) for duration in durations),
                   self.path.noc(Fraction(0)))

    def case(self, ddr: Duration) -> int:
        """1 if DDR3 has written a window's data before the next window, else 2 (section V.A.4)."""
        return 1 if ddr.to(self.path.noc).amount < self.path.period else 2

    def b1(self, ddr: Duration) -> Duration:
        """b_trans^1 with ``ddr`` for b_DDR, in NoC cycles: t_1 + t_phi - L + t_pk^NoC + b_DDR."""
        return (self._in_noc(self.t1, self.flow, self.path.packet_crossing, ddr)
                - self.path.noc(self.path.window))

    def b2(self, ddr: Duration) -> Duration:
        """b_trans^2, in NoC cycles: t_1 + Delta^max + t_pk^SRAM + t_pk^NoC + N_L b_DDR."""
        return self._in_noc(self.t1, self.wait, self.packet_read, self.path.packet_crossing,
                            self.windows * ddr)

    def total(self, ddr: Duration) -> Duration:
        """The bound of section V with ``ddr`` for b_DDR: the greater of b1 and b2, in NoC cycles.
        """
        return max(self.b1(ddr), self.b2(ddr), key=lambda bound: bound.amount)

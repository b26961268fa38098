"""Worst-case formulas of a cache with tags, above a memory of lines that answers in a known time.

Their derivation is in docs/dataflow-cache.md.
"""

from typing import Annotated

from cyclebound.golden.bound import Range, bound, prediction
from cyclebound.golden.dataflow.cache_policies import WRITE_BACK

__all__ = ["line_access", "line_access_times", "line_flush", "line_hit", "line_miss", "line_taken",
           "taken_undisturbed"]

Ports = Annotated[int, Range(1, says="ports that may ask for a bank")]
Banks = Annotated[int, Range(1, says="banks that share the port of lines")]
Ways = Annotated[int, Range(1, says="lines of a set")]
Misses = Annotated[int, Range(1, says="miss registers of a bank")]
Targets = Annotated[int, Range(1, says="accesses that wait for the line of one")]
TagWidth = Annotated[int, Range(1, says="bits of a port's tag")]
Words = Annotated[int, Range(1, says="words")]
Turn = Annotated[int, Range(1, says="cycles in which the memory below takes a request, at most")]
Latency = Annotated[int, Range(1, says="cycles from taking a read to its line, at most")]
Rows = Annotated[int, Range(0, says="lines of a bank that are to be written back, at most")]
UnderWay = Annotated[int, Range(0, 1, says="1 if accesses may be under way")]

_ENVIRONMENT = ("the other ports may access any word in any cycle; the memory below takes each "
                "request within `turn` cycles and answers each read within `latency`, in any "
                "order; a request stays until it is taken, no port uses a tag that is under way, "
                "and nothing is flushed")


@prediction(formula="3", source="this project, from SGMF, section 5.2")
def line_hit() -> int:
    """Cycles from taking an access to its answer, both included, if its line is there.

    Derivation: taken and looked up, read, answered. A port has one access made in a cycle, and each
    is answered as many cycles later, so that no two answers of a port fall into one cycle.
    """
    return 3


@prediction(formula="turn + latency + 4", source="this project, from SGMF, section 5.2")
def line_miss(*, turn: Turn, latency: Latency) -> int:
    """Cycles from offering an access to its answer, both included, if its line is not there.

    Of an access with nothing else under way, in memory neither; ``turn`` and ``latency``: of its
    read. Derivation: it is taken in the first cycle, and its line asked for in the next; it is
    written in the cycle after it has come, and the access made in the one after that, its answer
    two later: 1 + turn + (latency - 1) + 2 + 2. A dirty line that it displaces is written later.
    """
    return turn + latency + 4


def _others(banks: int, tag_width: int) -> int:
    """How many banks may have an access of the same port made before this one's turn comes."""
    return min(banks - 1, 2**tag_width - 1) if tag_width <= 2 else banks - 1


def _made(under_way: int, *, banks: int, misses: int, targets: int, tag_width: int,
          fewer: int = 0) -> int:
    """The cycles that a bank needs at most until all that waits for its lines has been made.

    ``under_way``: accesses that all ports may have under way; ``fewer``: that are not these.
    """
    work = min(misses, under_way) + min(misses * targets, under_way) + fewer
    return work * (1 + _others(banks, tag_width))


def taken_undisturbed(*, ports: int, line: int, busy: int, ways: int, misses: int, targets: int,
                      latency: int) -> int:
    """The cycle in which a bank has taken one access of each port, if it loses none.

    To lines that come, and to accesses that waited for them. ``line``: the most cycles that a bank
    waits for the port of lines, ``busy``: for all that an access may make it ask.
    docs/dataflow-cache.md derives it.
    """
    taken = [0]
    for number in range(1, ports + 1):
        freed, emptied = number - min(misses, ways), number - targets
        asked = taken[freed] + line if freed >= 0 else -1
        first = taken[emptied] if emptied >= 0 else emptied
        taken.append(1 + max(taken[-1] + busy, max(asked, first + line) + latency - 1))
    return taken[-1]


@bound(formula="taken(ports) + (misses + misses * targets + 2 * ports - 2) * (1 + others) + shared",
       source="this project, from SGMF, section 5.2", environment=_ENVIRONMENT)
def line_taken(*, ports: Ports, banks: Banks, ways: Ways, misses: Misses, targets: Targets,
               tag_width: TagWidth, policy: str, turn: Turn, latency: Latency) -> int:
    """Cycles from offering a request to taking it, both included, whatever others do.

    ``taken(n)`` is the cycle in which the bank has taken n accesses if it loses none to lines that
    come and to accesses that waited for them: 1 + max(taken(n - 1) + busy, asked + latency - 1),
    with ``busy`` = 2 banks * turn (banks * turn if policy is "write-through"). ``asked`` is the
    later of taken(n - min(misses, ways)) + banks * turn, -1 if that is older than the request, and
    of taken(n - targets) + banks * turn; taken(0) is 0, and taken(-n) is -n. The bank loses a cycle
    to each line that comes and to each access that waited, and for each up to ``others`` more, in
    which other banks make an access of the same port: banks - 1, with four tags or fewer tags - 1
    if that is less. ``shared`` is ports * (tags - 1), 0 with one bank. Of ``misses`` and of
    ``misses * targets``, no more count than there are tags of other accesses.
    docs/dataflow-cache.md derives it.
    """
    tags, line = 2**tag_width, banks * turn  # `line`: a bank's wait for the port of lines
    taken = taken_undisturbed(
        ports=ports, line=line, busy=line * (2 if policy == WRITE_BACK else 1), ways=ways,
        misses=misses, targets=targets, latency=latency)
    shared = ports * (tags - 1) if banks > 1 else 0
    return taken + shared + _made(ports * tags - 1, banks=banks, misses=misses,
                                      targets=targets, tag_width=tag_width, fewer=2 * ports - 2)


@bound(formula="line_taken + banks * turn + latency + 1 + (misses + misses * targets) * "
               "(1 + others)",
       source="this project, from SGMF, section 5.2", environment=_ENVIRONMENT)
def line_access(*, ports: Ports, banks: Banks, ways: Ways, misses: Misses, targets: Targets,
                tag_width: TagWidth, policy: str, turn: Turn, latency: Latency) -> int:
    """Cycles from offering a request to its answer, both included, whatever others do.

    Derivation: it is taken as `line_taken` says, and misses; its line is asked for when each other
    bank has had its turn, and comes ``latency`` cycles later. Then nothing new is taken until all
    that waits for lines in its bank has been made: all registers may have their lines, those of
    younger accesses, too, and be served first. It is answered two cycles later.
    docs/dataflow-cache.md derives it.
    """
    taken = line_taken(ports=ports, banks=banks, ways=ways, misses=misses, targets=targets,
                       tag_width=tag_width, policy=policy, turn=turn, latency=latency)
    return taken + banks * turn + latency + 1 + _made(
        ports * 2**tag_width, banks=banks, misses=misses, targets=targets, tag_width=tag_width)


@bound(formula="1 + size / banks / line + dirty * (banks * turn + 1) + under_way * (max(busy, "
               "banks * turn + latency - 1) + (misses + misses * targets) * (1 + others))",
       source="this project, from SGMF, section 4.6",
       environment="the memory below takes each request within `turn` cycles and answers each read "
                   "within `latency`; ports may offer anything")
def line_flush(*, ports: Ports, banks: Banks, size: Words, line: Words, misses: Misses,
               targets: Targets, tag_width: TagWidth, policy: str, turn: Turn, latency: Latency,
               dirty: Rows, under_way: UnderWay) -> int:
    """Cycles from the first one of ``flush`` to ``flushed``, both included.

    Derivation: nothing new is taken. What is under way ends as in `line_access`, with nothing taken
    after it. Then a bank gives up a row in each cycle; one that is dirty is read, is there in the
    next cycle, and from the one after that waits for each other bank's line, before the next row.
    """
    wait = banks * turn
    busy = wait * (2 if policy == WRITE_BACK else 1)
    before = max(busy, wait + latency - 1) + _made(
        ports * 2**tag_width, banks=banks, misses=misses, targets=targets, tag_width=tag_width)
    return 1 + size // banks // line + dirty * (wait + 1) + under_way * before


def line_access_times(*, users: int, tag_width: int, turn: int, latency: int, banks: int, ways: int,
                      misses: int, targets: int, policy: str) -> tuple[int, int]:
    """The times of an access for `golden.dataflow.wcet.estimate`, before anything runs.

    The most cycles of an access, from its offer to its answer (`line_access`), and the most that it
    waits to be taken (`line_taken`, less the cycle in which it is).

    Parameters
    ----------
    users : int
        Load/store units in use.
    tag_width, banks, ways, misses, targets, policy
        Of the cache.
    turn, latency : int
        Of the memory below.
    """
    if users == 0:
        return 1, 0
    known = {"ports": users, "banks": banks, "ways": ways, "misses": misses, "targets": targets,
             "tag_width": tag_width, "policy": policy, "turn": turn, "latency": latency}
    return line_access.of(known), line_taken.of(known) - 1

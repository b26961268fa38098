"""How long SHMAC's network with two channels takes for its requests and responses.

Masters may send any request to their targets in any cycle, each waiting for one response at a time;
plain writes are posted. A slave is as `golden.shmac.slave`, or faster: ``service`` cycles after it
took a request its response is on offer, and in the cycle after that, or after the one in which its
response was taken, it takes the next one, if there is one.

**What an output grants.** In each router an output has room for two packets (the stage), and the
input that it leads to for two more, in order: a channel of four places. Take an output for which a
packet asks in every cycle, from cycle x on. If there is no room in cycle x, the four packets there
were granted in four cycles before x, so that the first of them is at the head of the next queue and
asks since x - 1 at the latest; and what leaves that queue in cycle p makes room in p + 1. So k
grants of the output are over when k packets have left the queue, each of which waits for n grants
of its own next output at most: its own, and one of each other input that leads there. If fewer are
in the channel, fewer have to leave it, and what is not there yet comes a cycle later for each.
The last output hands a packet to the slave in every S-th cycle at least. So from one grant of an
output to the next, while packets ask for it, there are at most

    tau = S at a slave, else the greatest n tau of the outputs that its packets ask for next,

and k grants take k tau. S, a slave's turn, is its service, a cycle, and what its responses wait to
be taken.

**A packet's way.** On offer in cycle x:

- its own router grants it by x - 2 + 3 n tau, if its master's own packets fill the queue of two:
  a full queue has taken one in x - 1 at the latest, for which one has left it in x - 2. If they go
  to several outputs, two of the three n tau are the greatest. Nothing of its master under way, it
  asks in x + 1, and is granted by x + (n - 1) tau: if there is anything in the output's channel,
  its input was not the last that was served, so that one of the others comes after it. It is
  granted in x + 1 if no one else uses the output;
- granted in cycle a, it may have three packets before it in the channel, the first of which asks
  in cycle a: it is granted in the next router by a - 1 + 4 n tau, three of which are those of
  the outputs that these ask for. If nobody else uses the channel, and nothing of its master is
  under way, it asks in a + 3, as above;
- granted to the slave, one more may be before it, and one in the slave: taken by a + 2 S. If there
  is no one else, in a + 2, or by x - 1 + S if the slave still serves what the same master sent
  before, which it took in x - 1 at the latest.

**Behind so many of its own.** A full queue of a master's own packets took them one by one, and who
knows how many they are need not count a whole one. Take a queue that only one master's packets come
to: at its own router, and after an output that no other one uses. Its packet k asks as soon as it
is there and k - 1, the one before it, is gone; then it waits for its turn at its own output:

    granted(k) <= max(there(k) + fresh, granted(k - 1) + turn),    fresh = max(n, (n - 1) tau)

where turn = n tau, there(k) is x in its own router and two cycles after the grant before it in
others, and at a slave S is the turn. (fresh is n cycles at least, for a slave that takes a request
in each: n grants.) It is n - 1 and not n turns after a pause: if its input was
the last that the output served, it served it in a cycle g, and since then, whether all asked or
none did, as many packets have left the channel as make room for n more by g + n tau, or there was
room all the time, and n grants take n cycles. In queues where others' packets come,
granted <= there - 3 + 4 n tau, whatever is before it. So a way through the last k packets and all
queues goes down for each queue once, for what a packet needs that finds nothing of its master
(fresh, or a queue of others), and across for each packet before it at most once, for a turn:

    taken(k) <= the greatest of x(j) + first + (k - j) held,    j <= k; x(j): when j was on offer

``held`` is the longest turn of these queues. The first output's is it, since tau is n tau of
what comes next; where packets of one queue go to several outputs, fresh of one packet and the turn
of another one may be added, so that it is max(fresh) + max(turn - fresh) in each queue. A packet
that was taken by its slave before k was on offer counts no more: whatever waited for it, waited
as something fresh does since. As requests are on offer one after the other, x(j) <= x(k) - (k - j),
and a request behind m others takes no longer than

    first + m (held - 1)

and no longer than among any number. (Max-plus: bursts are paid once, however many routers there
are.) Of a core that waits for all its reads, ``first`` for each and ``held`` for each write is all
that it waits for together: what a write is held up itself, until it is taken, is a part of it. For
T(k) <= max(x(k), granted(k - 2) + 1), as the queue has two places, and two of held are more than
fresh + 1. Less, if the core lets time pass after a write: held counts from its offer.

All of this is reached where one slave is used: by writes without a pause, and by a read among them
that comes at the worst time. Where masters use several slaves it is safe; a packet at the head that
waits for one slave holds up those behind it for another one, and that each of them finds its slave
at the worst time need not be possible.

**Responses** are taken by their masters at once, and a master has one at a time. Where they meet
nowhere, they wait for nothing: an output that is fed by one input only, as are those after it,
grants whatever comes. Else one of two bounds, the lesser:

- the same as for requests, with 1 for S. Of each other master one packet at most is in a channel;
- in each cycle in which a response waits, a packet before it, or before one that is before it,
  moves on by a router. These are routers that responses come to which pass its path. So it waits
  for no more cycles than the others' responses have of these routers, each counted as often as its
  master can have another one.

A slave's response waits to be taken only if two are in the queue. None does if two masters or
fewer read there, or if each leaves the queue in the cycle in which the next one can be there: a
slave may be faster than its service says, and have a response in every cycle.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Annotated

from cyclebound.golden.bound import NotCovered, Range, bound, prediction
from cyclebound.golden.noc.routes import Mesh, Port, Tile, ports, xy_route
from cyclebound.golden.shmac.traffic import HOST, Senders, senders, services

__all__ = ["NetworkBounds", "Slave", "accept", "alone", "read", "write"]

Links = Annotated[int, Range(0, says="links between the two tiles")]

_ANYWHERE = Mesh(1 << 16, 1 << 16)
_ROUTER = 3   # cycles from one router to the next
_QUEUE = 2    # packets at an input, and at an output
_CHANNEL = 2 * _QUEUE
_LEAST_SERVICE = 1  # of a slave that is faster than stated
_MOST_WAITS = 10_000  # of a response: beyond that, its moves are not counted


@prediction(formula="3 (h + 1) + 1", source="this project")
def alone(*, links: Links) -> int:
    """A request's way to its slave, or a response's to its master, without other traffic.

    Counted from the cycle in which it is on offer to the first router, to the one in which the last
    router hands it over, both included; h links away there are h + 1 routers.

    Derivation: a packet that a router takes in cycle T is decoded there, asks in T + 1, crosses in
    T + 2 and is on offer in T + 3, when the next router takes it.
    """
    return _ROUTER * (links + 1) + 1


Output = tuple[Tile, Port]
Path = tuple[Output, ...]


@cache
def _path(source: Tile, target: Tile) -> Path:
    """The outputs on the way, all in the grid: along the row first (`xy_route`)."""
    route = xy_route(_ANYWHERE, (0, 0) if source == HOST else source, target)
    return tuple(zip(route, ports(route), strict=True))


class _Channel:
    """The outputs of one channel, and whose packets use them.

    ``ways``: (source, destination, master) of each packet that there may be; ``ends``: from one
    packet that a tile takes to the next, at most.
    """

    def __init__(self, ways: Iterable[tuple[Tile, Tile, Tile]],
                 ends: Mapping[Tile, int]) -> None:
        self._ends = ends
        self.paths = {way: _path(*way[:2]) for way in ways}
        self.users: dict[Output, set[Tile]] = {}
        self._inputs: dict[Output, set[Output | Tile]] = {}
        self.next: dict[Output, set[Output]] = {}
        self.first: dict[Tile, set[Output]] = {}
        for (source, _, master), path in self.paths.items():
            self.first.setdefault(source, set()).add(path[0])
            before: Output | Tile = source  # by which input it comes
            for output, following in zip(path, (*path[1:], None), strict=True):
                self.users.setdefault(output, set()).add(master)
                self._inputs.setdefault(output, set()).add(before)
                self.next.setdefault(output, set())
                if following is not None:
                    self.next[output].add(following)
                before = output
        self._tau: dict[Output, int] = {}

    def inputs(self, output: Output) -> int:
        """How many inputs lead there: n."""
        return len(self._inputs[output])

    def tau(self, output: Output) -> int:
        """From one grant to the next, at most."""
        if output not in self._tau:
            self._tau[output] = (self.worst(self.next[output]) if self.next[output]
                                 else self._ends[output[0]])
        return self._tau[output]

    def turn(self, output: Output) -> int:
        """Until who asks there is granted, at most: n tau."""
        return self.inputs(output) * self.tau(output)

    def worst(self, outputs: Iterable[Output]) -> int:
        """The longest turn of these outputs."""
        return max(map(self.turn, outputs))

    def shared(self, output: Output) -> bool:
        """Whether several masters' packets use it."""
        return len(self.users[output]) > 1

    def fresh(self, output: Output) -> int:
        """Until a packet is granted there, at most, if none of its input is in the channel."""
        inputs = self.inputs(output)
        return max(inputs, (inputs - 1) * self.tau(output))

    def around(self, first: Output) -> set[Output]:
        """The outputs at which a packet waits that begins with this one, or one before it."""
        found: set[Output] = set()
        todo = [first]
        while todo:
            output = todo.pop()
            if output not in found:
                found.add(output)
                todo += self.next[output]
        return found


@dataclass(frozen=True)
class Slave:
    """How fast a slave is.

    Attributes
    ----------
    service : int
        Cycles from the one in which it takes a request to its response's offer.
    turn : int
        Cycles from one request that it takes to the next, if there is one, and responses are taken
        at once.
    wait : int
        Cycles for which a request may be on offer to it though it has nothing to do.

    Raises `ValueError` for a service or turn below 1, and a wait below 0.
    """

    service: int
    turn: int
    wait: int = 0

    def __post_init__(self) -> None:
        for name, least in (("service", 1), ("turn", 1), ("wait", 0)):
            if (value := getattr(self, name)) < least:
                raise ValueError(f"{name} must be at least {least}, not {value}")

    @classmethod
    def of(cls, service: "int | Slave") -> "Slave":
        """One that takes a request a cycle after it is done with the one before."""
        return service if isinstance(service, Slave) else cls(service, service + 1)


class NetworkBounds:
    """The bounds for given masters.

    Raises `ValueError` if one of them, or a target, is not in the grid, and as `Slave`.

    Parameters
    ----------
    mesh : Mesh
        Rows and columns.
    masters : mapping
        Their targets.
    service : int, Slave, or mapping of Tile to either
        Of each slave: how fast it is; a number: `Slave.of`.
    """

    def __init__(self, mesh: Mesh, masters: Senders, *,
                 service: int | Slave | Mapping[Tile, int] | Mapping[Tile, Slave]) -> None:
        for tile in {*masters, *(there for targets in masters.values() for there in targets)}:
            if tile not in mesh and not (tile == HOST and tile in masters):
                raise ValueError(f"tile must be in the grid of {mesh.rows} x {mesh.columns}, not "
                                 f"{tile}")
        pairs = [(master, target) for master, targets in masters.items() for target in targets]
        every = Slave.of(service) if isinstance(service, int | Slave) else None
        self._slaves = {target: every or Slave.of(service[target])  # type: ignore[index]
                        for _, target in pairs}
        self._masters = masters
        self._readers: dict[Tile, list[Tile]] = {target: [] for _, target in pairs}
        for master, target in pairs:
            if master != HOST:
                self._readers[target].append(master)
        self._responses = _Channel(
            [(target, master, master) for master, target in pairs if master != HOST],
            dict.fromkeys(mesh.tiles, 1))
        self._crowds: dict[Output, dict[Tile, tuple[int, int, int]] | None] = {}
        self._least: dict[Tile, int] = {}
        turns = {target: self._slaves[target].turn + self._stalls(target)
                 for target in self._readers}
        self._requests = _Channel(
            [(master, target, master) for master, target in pairs], turns)

    # Responses

    def _waits(self, target: Tile) -> bool:
        """Whether a response may come to a slave's queue while there is another one."""
        channel = self._responses
        return (len(self._readers[target]) > 1
                and channel.worst(channel.first[target]) > 1)

    def _stalls(self, target: Tile) -> int:
        """How long a slave's response waits to be taken."""
        if len(self._readers[target]) <= _QUEUE or not self._waits(target):
            return 0
        by_turns = self._responses.worst(self._responses.first[target]) - 1
        moves = [self._moves(target, master) for master in self._readers[target]]
        return max(by_turns if count is None else min(by_turns, count) for count in moves)

    def _nearest(self, master: Tile) -> int:
        """Cycles that the response of its nearest slave takes in the routers."""
        if master not in self._least:
            self._least[master] = _ROUTER * min(
                len(self._responses.paths[there, master, master])
                for there in self._masters[master])
        return self._least[master]

    def _crowd(self, first: Output) -> dict[Tile, tuple[int, int, int]] | None:
        """Masters whose responses may hold up one that begins with that output: how often each of
        them moves on there, when there may be one more, and one more after that. None: so many
        that a response may wait for ever new ones."""
        if first not in self._crowds:
            channel = self._responses
            around = channel.around(first)
            masters = set().union(*(channel.users[output] for output in around))
            nearest = {master: self._nearest(master) for master in masters}
            apart = [2 * cycles + _LEAST_SERVICE for cycles in nearest.values()]
            if sum(1 / cycles for cycles in apart) - 1 / min(apart) >= 1:
                self._crowds[first] = None
            else:
                self._crowds[first] = {master: (
                    max(len(around.intersection(channel.paths[there, master, master]))
                        for there in self._masters[master]),
                    cycles + _LEAST_SERVICE, 2 * cycles + _LEAST_SERVICE)
                    for master, cycles in nearest.items()}
        return self._crowds[first]

    def _moves(self, target: Tile, master: Tile) -> int | None:
        """How often other responses move on where this one may wait for them; None: no limit."""
        path = self._responses.paths[target, master, master]
        crowd = self._crowd(path[0])
        if crowd is None:
            return None
        others = [its for other, its in crowd.items() if other != master]
        waits = 0
        while waits <= _MOST_WAITS:
            window = _ROUTER * len(path) + waits
            total = sum(moves * (1 + (window >= again and 1 + (window - again) // apart))
                        for moves, again, apart in others)
            if total <= waits:
                return waits
            waits = total
        return None

    def response(self, master: Tile, target: Tile) -> int:
        """Cycles from a response's offer to its master's, both included."""
        channel = self._responses
        path = channel.paths[target, master, master]
        before = min(_QUEUE, len(self._readers[target]) - 1) if self._waits(target) else 0
        way = before * (channel.worst(channel.first[target]) - 1) + channel.turn(path[0])
        for here, there in pairwise(path):
            others = min(_CHANNEL - 1, len(channel.users[here] - {master}))
            way += (2 - others + others * channel.worst(channel.next[here]) + channel.turn(there))
        by_turns = way + 2 + 1
        moves = self._moves(target, master)
        return by_turns if moves is None else min(by_turns, _ROUTER * len(path) + moves + 1)

    # Requests

    def accept(self, master: Tile) -> int:
        """Cycles from a request's offer to where its router takes it, both included."""
        return self._requests.worst(self._requests.first[master])

    def _way(self, master: Tile, target: Tile, *, behind: bool) -> int:
        """Cycles from a request's offer to where its slave takes it, without the first.

        ``behind``: any number of its master's may be before it, else none is."""
        channel = self._requests
        path = channel.paths[master, target, master]
        way = (2 * channel.worst(channel.first[master]) + channel.turn(path[0]) - 2 if behind
               else channel.fresh(path[0]))
        for here, there in pairwise(path):
            before = _CHANNEL - 1
            way += (2 - before + before * channel.worst(channel.next[here]) + channel.turn(there)
                    if behind or channel.shared(here) else 2 + channel.fresh(there))
        return way + (2 * channel.tau(path[-1]) if behind or channel.shared(path[-1])
                      else 2 + self._slaves[target].wait)

    def held(self, master: Tile, target: Tile) -> int:
        """How long one request of a master may hold up another one of it, to this target."""
        channel = self._requests
        path = channel.paths[master, target, master]
        queues = [channel.first[master], *(channel.next[here] for here in path[:-1]
                                           if not channel.shared(here))]
        return max(max(map(channel.fresh, outputs)) + max(
            channel.turn(output) - channel.fresh(output) for output in outputs)
            for outputs in queues)

    def held_together(self, master: Tile) -> int:
        """How long a write of a master holds up what it sends later, all together, to any of its
        targets; a cycle less for each until the next is on offer."""
        return max(self.held(master, target) for target in self._masters[master])

    def backlog(self, master: Tile) -> int:
        """The same of all its writes that are under way at some time, whatever was before."""
        return self.held_together(master) + max(
            self._way(master, target, behind=True) - self._way(master, target, behind=False)
            for target in self._masters[master])

    def write(self, master: Tile, target: Tile, *, behind: int) -> int:
        """Cycles from a request's offer to where its slave takes it, both included.

        ``behind``: so many requests of its master are under way, at most.
        """
        channel = self._requests
        last = channel.paths[master, target, master][-1]
        first = self._way(master, target, behind=False)
        if not channel.shared(last):
            first = max(first, channel.tau(last) - 1)
        if not behind:
            return first + 1
        return 1 + min(self._way(master, target, behind=True),
                       first + behind * (self.held(master, target) - 1))

    def read(self, master: Tile, target: Tile, *, behind: int) -> int:
        """Cycles from a request's offer to its response, both included."""
        return (self.write(master, target, behind=behind) - 1 + self._slaves[target].service
                + self.response(master, target))


# The claims

Rows = Annotated[int, Range(1, 16, says="rows of the grid")]
Columns = Annotated[int, Range(1, 16, says="columns of the grid")]
Traffic = Annotated[int, Range(0, says="who may send to whom: a number of "
                                       "`golden.shmac.traffic.senders`")]
Number = Annotated[int, Range(0, says="number of a tile, row by row")]
Service = Annotated[int, Range(1, says="cycles from the one in which a slave takes a request to "
                                       "its response's offer")]
Uneven = Annotated[int, Range(0, says="slave number n needs n modulo (uneven + 1) cycles more")]
Behind = Annotated[int, Range(0, says="requests of the same master that may be under way where it "
                                      "is first on offer")]

_SOURCE = "this project"
_ENVIRONMENT = ("the masters of this traffic may send any request to any of their targets in any "
                "cycle, each waiting for one response at a time; no write fails; masters take "
                "responses at once, and a slave needs no longer than its service")


@cache
def _bounds(rows: int, columns: int, traffic: int, hot: int, master: int, service: int,
            uneven: int) -> NetworkBounds:
    mesh = Mesh(rows, columns)
    for number in (hot, master):
        if number >= rows * columns:
            raise NotCovered(f"tile must be below {rows * columns}, not {number}")
    return NetworkBounds(mesh, senders(mesh, traffic, hot=divmod(hot, columns),
                                       master=divmod(master, columns)),
                         service=services(mesh, service, uneven))


def _of(which: str, rows: int, columns: int, traffic: int, hot: int, master: int, target: int,
        service: int, uneven: int, behind: int) -> int:
    bounds = _bounds(rows, columns, traffic, hot, master if traffic == 0 else 0, service, uneven)
    ends = [divmod(number, columns) for number in (master, target)]
    try:
        return getattr(bounds, which)(*ends, behind=behind)
    except KeyError as error:
        raise NotCovered(f"tile {master} sends nothing to tile {target} in traffic {traffic}"
                         ) from error


_WRITE = ("1 + min({n tau of three packets of its own} - 2 + {4 n tau - 1 for each link} + 2 S, "
          "first + behind (held - 1))")


@bound(formula=_WRITE, source=_SOURCE, environment=_ENVIRONMENT)
def write(*, rows: Rows, columns: Columns, traffic: Traffic, hot: Number, master: Number,
          target: Number, service: Service, uneven: Uneven = 0, behind: Behind) -> int:
    """A plain write, until its slave takes it.

    Counted from the first cycle in which it is on offer to where the slave takes it, both included.
    Raises `NotCovered` as `accept`, and for a target that the tile does not send to.
    The module's docstring has the derivation, and the values of tau, S, first and held.
    """
    return _of("write", rows, columns, traffic, hot, master, target, service, uneven, behind)


@bound(formula="write - 1 + s + response", source=_SOURCE, environment=_ENVIRONMENT)
def read(*, rows: Rows, columns: Columns, traffic: Traffic, hot: Number, master: Number,
         target: Number, service: Service, uneven: Uneven = 0, behind: Behind) -> int:
    """A read, LL or SC, until its master has the response.

    Counted from the first cycle in which it is on offer to where its master takes the response,
    both included. Raises `NotCovered` as `write`. It comes to its slave as `write` says, the
    response is on offer ``service`` cycles later, and its way back is in the module's docstring.
    """
    return _of("read", rows, columns, traffic, hot, master, target, service, uneven, behind)


@bound(formula="n tau of its first output", source=_SOURCE, environment=_ENVIRONMENT)
def accept(*, rows: Rows, columns: Columns, traffic: Traffic, hot: Number, master: Number,
           service: Service, uneven: Uneven = 0) -> int:
    """Any request, until its router takes it: what holds up a core that writes.

    Counted from the first cycle in which it is on offer to where it is taken, both included. Raises
    `NotCovered` for a tile that does not send in this traffic, or is not there.
    Derivation: if there is no place, the queue is full in cycle x, and its head asks since x - 1:
    it is granted by x - 2 + n tau, and the request taken in the cycle after.
    """
    bounds = _bounds(rows, columns, traffic, hot, master if traffic == 0 else 0, service, uneven)
    tile = divmod(master, columns)
    try:
        return bounds.accept(tile)
    except KeyError as error:
        raise NotCovered(f"tile {master} sends nothing in traffic {traffic}") from error


"""SHMAC's core, and its tiles."""

from cyclebound.golden.shmac import core_bounds, gate, tile_bounds
from cyclebound.hdl.shmac.core import Core
from cyclebound.hdl.shmac.gate import Gate
from cyclebound.hdl.shmac.grid import Grid
from cyclebound.hdl.shmac.ram import Ram
from cyclebound.hdl.shmac.tile import CoreTile
from cyclebound.sim.describe.block import (
    Block,
    BoundBinding,
    Configuration,
    FpgaTarget,
    MutationTarget,
    Picture,
    Property,
    Testbench,
)
from cyclebound.tb.probe import Probe, offered, taken
from cyclebound.tb.shmac.core_isa_properties import (
    CoreFlowProof,
    CoreMemoryProof,
    CoreRegistersProof,
    CoreResultsProof,
    CoreSystemProof,
)
from cyclebound.tb.shmac.core_properties import CoreCheck, CoreTimeProof
from cyclebound.tb.shmac.gate_properties import GateCheck, GateProof
from cyclebound.tb.shmac.ram_properties import RamCheck, RamProof
from cyclebound.tb.shmac.routes_properties import GridRoutesProof
from cyclebound.tb.shmac.tile_properties import TileCheck
from cyclebound.tools.shmac.known_wcet import RETURN, START

# A response is to come: to what has been taken in this cycle, or before.
_AWAITED = ("held(request.valid & request.ready & (~request.payload.write | request.payload.sync) "
            "& ~response.valid, (request.valid & request.ready) | response.valid)")
# Counted a cycle later, as intervals are: from an instruction's beginning to before the next's.
_CORE_CYCLE = f"past(~((request.valid & ~request.ready) | {_AWAITED}))"

# An instruction, where it begins; the plain and checked ones end there.
_BEGINS = "trace.begins & ~trace.exception"
_SIMPLE = f"{_BEGINS} & trace.ends"
_OPCODE, _FUNCTION = "trace.instruction[26:32]", "trace.instruction[0:6]"
_CHECKED = f"(({_OPCODE} == 16) | ({_OPCODE} == 56))"
_SIGNED = (f"(({_OPCODE} == 8) | (({_OPCODE} == 0) & (({_FUNCTION} == 32) | ({_FUNCTION} == 34))))")
_STORES = "(trace.instruction[29:32] == 5)"
_CLASSES = {
    "plain": f"{_SIMPLE} & ~{_CHECKED}",
    "signed": f"{_BEGINS} & {_SIGNED}",
    "checked": f"{_SIMPLE} & {_CHECKED}",
    "multiply": f"{_BEGINS} & ({_OPCODE} == 0) & (trace.instruction[1:6] == 12)",
    "divide": f"{_BEGINS} & ({_OPCODE} == 0) & (trace.instruction[1:6] == 13)",
    "load": f"{_BEGINS} & ~trace.ends & (trace.instruction[31] == 1) & ~{_STORES}",
    "store": f"{_BEGINS} & {_STORES}",
    "trap": "trace.begins & trace.exception",
}



def _interval(begins, again="trace.begins"):
    """From the cycle after one of these instructions begins to the next one's beginning."""
    return {"start": f"past({begins})", "end": f"{again} & past(held({begins}, {again}))"}


def _follows(**parameters):
    """A core that shows a register to its checker."""
    return Core(**parameters, follows=True)


def _isa(name, checker, says, *, instances, depth=10, **more):
    """A property of what instructions do."""
    return Property(name=name, says=says, checker=checker, instances=instances, depth=depth,
                    quick=0, induction=2, **more)


# Of the others, products, the checker asserts the same, but a proof that says so of their probes
# would have to reach the end of one, 40 cycles after reset.
_SHORT = ("plain", "signed", "checked", "load", "store", "trap")


_INSTRUCTION = BoundBinding("instruction", core_bounds.instruction,
                            Probe(**_interval("trace.begins"), classed=True))
_RAM_ACCESS = BoundBinding("ram_access", tile_bounds.ram_access, Probe(
    start=offered("accesses"), end=taken("accesses"), classed=True))
_TILE = {"rows": 3, "columns": 4, "words": 8192, "endian": "big", "bypass": True,
         "jump": False}
_BOTH = ({"endian": "big"}, {"endian": "little", "reset_address": 0x100})

BLOCKS = (
    Block(
        name="shmac.core",
        summary="MIPS-I core with LL and SC: two stages, one outstanding request",
        component=Core,
        configurations={
            "big": Configuration(_BOTH[0]),  # the thesis' toolchain, A.1.1
            "little": Configuration(_BOTH[1]),
        },
        testbenches=(
            Testbench("cycle", "cyclebound.tb.shmac.core", quick=("big",)),
            Testbench("long", "cyclebound.tb.shmac.core", tests=("long_programs",), thorough=True),
            Testbench("programs", "cyclebound.tb.shmac.core_programs", tests=("exact_programs",),
                      quick=("big",)),
            Testbench("worst", "cyclebound.tb.shmac.core_programs",
                      tests=("many_exact_programs", "bounded_programs", "written_programs"),
                      thorough=True),
        ),
        bounds=(
            *(BoundBinding(name, claim, Probe(
                **_interval(_CLASSES[name]), ticks=_CORE_CYCLE, unit="core cycles"),
                proved_by=("time",) if name in _SHORT else ())
              for name, claim in core_bounds.CLASSES.items()),
            _INSTRUCTION,
            BoundBinding("program", core_bounds.program, Probe(
                start=f"past(trace.begins & (trace.pc == {START}))",
                end=f"trace.begins & (trace.pc == {RETURN})")),
        ),
        checker=CoreCheck,
        properties=(
            Property(
                name="time",
                says="an instruction takes the core cycles of its class, whenever memory takes "
                     "requests and answers them: only requests, and none in the cycle in which it "
                     "is taken; one request is under way at a time, and an offer stays",
                checker=CoreTimeProof,
                instances=_BOTH,
                quick=0,
                declares={name: lambda instance: {} for name in _SHORT},
                assumes={"response without a request":
                         "only requests, and none in the cycle in which it is taken"},
                depth=9,
                induction=3,
            ),
            _isa("results", CoreResultsProof, instances=_BOTH[:1],
                 says="each instruction writes the register and the value that the architecture "
                      "says, of the values that it reads; loads, coprocessor 0 and the contents of "
                      "HI and LO apart"),
            _isa("flow", CoreFlowProof, instances=_BOTH,
                 says="the instructions that are fetched and executed follow each other: slots, "
                      "branches, jumps, exceptions"),
            _isa("memory", CoreMemoryProof, instances=_BOTH,
                 says="each load and store accesses its bytes and no others, with the right data, "
                      "and a load makes of them what it says"),
            _isa("system", CoreSystemProof, instances=_BOTH[:1],
                 says="an exception is taken exactly where one comes, the first of several; "
                      "coprocessor 0, and the link of LL and SC"),
            _isa("registers", CoreRegistersProof, instances=_BOTH[:1], top=_follows,
                 says="what is read from a register is what was written into it last, but for "
                      "register 0"),
        ),
        mutants=MutationTarget("big", 200),
        fpga=FpgaTarget("big"),
        signals=("top.dut.trace", "top.dut.request__valid", "top.dut.request__ready",
                 "top.dut.request__payload", "top.dut.response__valid",
                 "top.dut.response__payload"),
    ),
    Block(
        name="shmac.ram",
        summary="RAM of a tile: for the network, and before it for a core; LL and SC",
        component=Ram,
        configurations={
            "locks": Configuration({"words": 16, "raises": False,
                                    "masters": [[0, 0], [0, 1], [1, 0]]}),
            "core": Configuration({"words": 16, "raises": True, "masters": []}),
        },
        testbenches=(Testbench("cycle", "cyclebound.tb.shmac.ram", quick=("core", "locks")),),
        bounds=(_RAM_ACCESS,),
        checker=RamCheck,
        properties=(
            Property(
                name="reservations",
                says="an SC succeeds if and only if an LL of its master reserved the word, and "
                     "nothing was written to it since, nor came another LL or SC of this master; "
                     "a response comes in the cycle after its request was taken, and stays",
                checker=RamProof,
                instances=({"words": 4, "raises": False, "masters": [[0, 0], [0, 1], [1, 0]]},
                           {"words": 4, "raises": True, "masters": []}),
                depth=6,
                induction=2,
            ),
        ),
        mutants=MutationTarget("locks", 200),
    ),
    Block(
        name="shmac.tile",
        summary="core with its RAM, system registers, and ports to the network",
        component=CoreTile,
        configurations={
            "bypass": Configuration(_TILE),  # the thesis' 5.1
            "little": Configuration({**_TILE, "endian": "little"}),
            "routed": Configuration({**_TILE, "bypass": False}),  # 2.3: by the router
        },
        testbenches=(Testbench("cycle", "cyclebound.tb.shmac.tile", quick=("bypass",),
                               least={"columns": 2, "words": 8192}),),
        bounds=(
            _INSTRUCTION,
            _RAM_ACCESS,
        ),
        checker=TileCheck,
        properties=(Property(
            name="requests",
            quick=0,
            says="requests to the network stay until they are taken, are the tile's own, go to "
                 "tiles of the grid, past the router to none of its own, and come neither before "
                 "the program's start nor after its end; answers stay until they are taken; "
                 "whatever the program does",
            checker=TileCheck,
            instances=({"rows": 2, "columns": 2, "words": 256},
                       {"rows": 2, "columns": 3, "words": 256, "bypass": False}),
            depth=12,
            induction=3,
            any_product=True,
        ),),
        mutants=MutationTarget("bypass", 200),
        fpga=FpgaTarget("bypass"),
        unused_inputs=("responses__payload",),  # whose it is, and from where: the network knows
        signals=("top.dut.trace", "top.dut.requests__*", "top.dut.responses__*",
                 "top.dut.accesses__*", "top.dut.answers__*"),
    ),
    Block(
        name="shmac.gate",
        summary="TDMA gate between a tile and the network",
        component=Gate,
        configurations={
            "even": Configuration({"period": 7, "opens": 2, "evens": True}),
            "plain": Configuration({"period": 5, "opens": 4, "evens": False}),
            "open": Configuration({"period": 1, "opens": 0, "evens": True}),
        },
        testbenches=(Testbench("cycle", "cyclebound.tb.shmac.gate", quick=("even",)),),
        bounds=(BoundBinding("let_in", gate.let_in, Probe(
            start=offered("requests"), end=taken("requests"), classed=True)),),
        checker=GateCheck,
        properties=(Property(
            name="gate",
            says="requests go in the open cycle of each period and in no other one, answers two "
                 "cycles after their request was first on offer if the tile has them by then; all "
                 "unchanged",
            checker=GateProof,
            quick=1,
            instances=({"period": 7, "opens": 2, "evens": True},
                       {"period": 5, "opens": 4, "evens": False},
                       {"period": 1, "opens": 0, "evens": True}),
            depth=9,
            induction=2,
        ),),
        mutants=MutationTarget("even", 50),
        pictures=(Picture(
            "attacks", "Cycles of a program in tile (1, 1) of PP/PP that reads the RAM of tile "
            "(0, 0), alone (lines) and while the other cores load and store there (points), with "
            "gates and without.",
            "cyclebound.sim.pictures.interference:under_attack",
            arguments={"rows": ("PP", "PP"), "attacks": 40, "seed": 1}, thorough=True),),
    ),
    Block(
        name="shmac.grid",
        summary="tiles with cores, RAM and devices, on two networks",
        component=Grid,
        configurations={
            "small": Configuration({"layout": ["PR", "LP"], "words": 8192, "endian": "big",
                                    "bypass": True, "jump": []}),
            "devices": Configuration({"layout": ["JPC", "UP."], "words": 8192, "endian": "little",
                                      "bypass": False, "jump": [[0, 1]]}),
            # as `cyclebound shmac gates` finds them
            "gated": Configuration({"layout": ["PR", "LP"], "words": 8192, "endian": "big",
                                    "bypass": True, "jump": [], "period": 8, "opens": [0, 4]}),
        },
        testbenches=(Testbench("cycle", "cyclebound.tb.shmac.grid", quick=(),
                               least={"words": 8192}),),
        bounds=(BoundBinding("instruction", core_bounds.instruction, Probe(
            **_interval(*["trace[n].begins"] * 2), over={"n": "trace"}, classed=True)),),
        properties=(Property(
            name="routes",
            quick=0,
            says="whatever programs do, no packet is lost, and each leaves the network at the tile "
                 "that it is for",
            checker=GridRoutesProof,
            instances=({"layout": ["PR", "LC"], "words": 16},),
            depth=10,
            induction=2,
            free=("core_0_0.core",),
        ),),
        signals=("top.dut.trace__*", "top.dut.console__*"),
    ),
)

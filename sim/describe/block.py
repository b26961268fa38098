"""Blocks of the catalogue: one object has all that the commands need."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from amaranth.lib import wiring

from cyclebound.golden.bound import Bound
from cyclebound.golden.register_table import RegisterTable
from cyclebound.sim.base.errors import UserError, unknown
from cyclebound.tb.probe import Probe

__all__ = [
    "FOLLOWED",
    "WALL_LIMIT",
    "Block",
    "BoundBinding",
    "Configuration",
    "Exploration",
    "FpgaTarget",
    "Make",
    "MutationTarget",
    "Picture",
    "Property",
    "Testbench",
]

WALL_LIMIT = 3600
"""Seconds after which a simulator is taken to hang. The longest job of the full level, the sweep of
`dram.controller 4bg`, takes 4 to 14 minutes."""

FOLLOWED = "which request a proof follows"
"""In a ledger of assumptions: no rule of the surroundings. The proof is about any one request."""

Make = Callable[..., wiring.Component]


Domain = Mapping[str, range | tuple[int, ...]]


@dataclass(frozen=True)
class Configuration:
    """Named values of the component's parameters.

    Attributes
    ----------
    parameters : mapping
        Keyword arguments of the component.
    domain : mapping or callable
        The values that an exhaustive testbench covers, for parameters of a request and other
        influences on its latency (the state in which it finds the block, its alignment). The probe
        observes the influences; the parameters may be declared only. Each combination is a case,
        and the verdict says "exhaustive" only if every case was observed. A domain that depends on
        the component's parameters is a function of them.
    possible : callable or None
        Takes the values of a combination, by name; whether it is a case. None: all are.
    """

    parameters: Mapping[str, Any]
    domain: Domain | Callable[[Mapping[str, Any]], Domain] = field(default_factory=dict)
    possible: Callable[..., bool] | None = None

    @property
    def values(self) -> Domain:
        """The domain for these parameters."""
        return self.domain(self.parameters) if callable(self.domain) else self.domain


@dataclass(frozen=True)
class Testbench:
    """A cocotb module, and the configurations in which it runs.

    Attributes
    ----------
    name : str
        Short, unique within the block: ``cycle`` compares every cycle, ``harness`` leaves traffic
        and measurement to hardware.
    module : str
        The cocotb module.
    tests : tuple[str, ...] or None
        The tests of the module that it runs; None: those that no other testbench of the block
        names.
    top : callable or None
        Makes the component to simulate from the block's parameters; None: the block itself.
    seeds : int
        How many consecutive seeds a regression runs.
    max_cycles : int
        Simulated cycles after which a test is taken to hang.
    configurations : tuple[str, ...] or None
        Those it runs on; None: all.
    quick : tuple[str, ...] or None
        Configurations in which the quick level runs it; None: all that it runs on, unless it is
        ``thorough``. The full level runs every testbench in every configuration.
    thorough : bool
        A regression runs it in the full level only, or if it is named: it takes minutes.
    checker : callable or None
        Makes the bound checker that watches ``top``. The block's own checker watches the block
        itself only.
    observes : bool
        It makes requests that are measured: a run without any fails.
    compares : bool
        It compares the hardware with a model (`cyclebound.tb.bench.Bench.compared`): a run that
        compares nothing fails. False only where the command that runs it compares what it leaves.
    searches : bool
        Its tests search for the request that comes closest to the bound, and a test shows that they
        find planted looseness.
    probed : callable or None
        Returns, from ``top``, the block's component inside it, to which its probes are attached;
        None: with a ``top`` there are no probes. Of another component, or one with other
        parameters than the configuration's, nothing is measured: the job fails.
    least : mapping
        The smallest values with which the testbench can run, of parameters for which the component
        itself takes smaller ones.
    fixed : tuple[str, ...]
        Parameters that its models support with the configuration's own values only.
    """

    __test__: ClassVar[bool] = False  # for pytest, which takes any class called Test... for one

    name: str
    module: str
    tests: tuple[str, ...] | None = None
    top: Make | None = None
    seeds: int = 1
    max_cycles: int = 2_000_000
    configurations: tuple[str, ...] | None = None
    quick: tuple[str, ...] | None = None
    thorough: bool = False
    checker: Callable[[wiring.Component], wiring.Component] | None = None
    observes: bool = True
    compares: bool = True
    searches: bool = False
    probed: Callable[[wiring.Component], wiring.Component] | None = None
    least: Mapping[str, int] = field(default_factory=dict)
    fixed: tuple[str, ...] = ()

    def runs_on(self, configuration: str) -> bool:
        """Whether it can run in this configuration."""
        return self.configurations is None or configuration in self.configurations

    def is_quick(self, configuration: str) -> bool:
        """Whether the quick level runs it in this configuration."""
        return not self.thorough and (self.quick is None or configuration in self.quick)


@dataclass(frozen=True)
class BoundBinding:
    """The bound on the requests that testbenches observe as ``what``.

    Attributes
    ----------
    what : str
        Name of these requests.
    bound : Bound
        Its formula.
    probe : Probe or None
        Defines where such a request begins and ends, at the block's ports.
    proved_by : tuple[str, ...]
        Names of the properties whose proofs cover this bound too: that the probe's count never
        exceeds it, for the kinds of requests that the property declares.
    exhaustive : bool
        Whether the configuration's domain applies to these requests. What of it is no parameter of
        the bound is a state or a condition: the probe's ``request`` or ``conditions`` observe it.
    exhausts : str
        How the environment in which the cases are tried is smaller than that of the bound, in a
        phrase that the verdict prints. A prediction is about the input alone, and needs none.
    configurations : tuple[str, ...]
        Those whose testbenches make such requests; the default is all. In these, a run fails if
        none was observed.
    signals : callable or None
        Returns, from the block's and a request's parameters, the signals to show in that request's
        waveform, as `Block.signals`; None: the block's.
    """

    what: str
    bound: Bound
    probe: Probe | None = None
    proved_by: tuple[str, ...] = ()
    exhaustive: bool = False
    exhausts: str = ""
    configurations: tuple[str, ...] = ()
    signals: Callable[[Mapping[str, Any]], Sequence[str]] | None = None


@dataclass(frozen=True)
class Property:
    """A property of the block that is proved.

    Attributes
    ----------
    name : str
        Unique within the block.
    says : str
        The property in a sentence.
    checker : callable
        Makes the component with the `Assert`s and `Assume`s from the component under proof.
    instances : tuple of mappings
        The component's parameters, one proof each.
    independent : mapping
        Parameters that make no difference to the property, each with the reason: a proof covers
        configurations with other values of these, and of no others. Its instances have two values
        of each, at least.
    declares : mapping
        For each bound that it proves (`BoundBinding.what`), a function from an instance's
        parameters to the kinds of requests that the proof covers, as requesters declare them
        (`cyclebound.tb.probe.ANY`: any value); one proof for all of them.
    at : mapping
        Of which of the probe's places these requests are: some of its indexes, with their values;
        empty: of all. Only where the probe sees the place in the request (`Probe.request`).
    depth : int or callable
        Cycles of the bounded check, in which each of the checker's `Cover`s is reached; or a
        function of an instance that returns them.
    induction : int or None
        Greatest depth of the induction step; None: the property is only checked to ``depth``.
    top : callable or None
        Makes the component under proof from an instance's parameters; None: the block itself. A
        proof of other hardware than the block's, with the same parameters, supports no bound.
    anywhere : bool
        Begin in every state of the component that the checker's assumptions allow in the first
        cycle, instead of after reset. If a checker asserts at the end of each request what it
        assumes at the beginning of one, this proves the property for any number of requests.
    any_product : bool
        The result of every multiplier, of the component and of the checker, is free in every cycle:
        for widths that are too large for solvers. The checker assumes what it needs of products.
    free : tuple of str
        Parts of the component, by their paths in it (``"accelerator.compute"``): whatever they
        answer. Of the rest, this proves more than with them, for any sizes of theirs.
    flat : bool
        The solver gets one flat netlist, simplified, with memories as registers: some times faster
        where much of what a component has stays constant.
    quick : int or None
        How many of the instances, from the first, the quick level proves; None: all of them.
    assumes : mapping
        The ledger of what its checker assumes, of a property that proves bounds: each message
        (`cyclebound.tb.assumed.said`), with ``#`` for numbers, and the words in which the sentence
        of the bounds says the same: their environment's, or of a prediction, this property's. Or
        `FOLLOWED`.
    covered : mapping, callable or None
        The instance in which the `Cover`s are looked for, where that would take too long in the
        others; or a function of an instance that returns it. None: in each.
    """

    name: str
    says: str
    checker: Callable[[wiring.Component], wiring.Component]
    instances: tuple[Mapping[str, Any], ...]
    independent: Mapping[str, str] = field(default_factory=dict)
    declares: Mapping[str, Callable[[Mapping[str, Any]], Mapping[str, int | None]]] = field(
        default_factory=dict)
    at: Mapping[str, int] = field(default_factory=dict)
    depth: int | Callable[[Mapping[str, Any]], int] = 12
    induction: int | None = 12
    top: Make | None = None
    anywhere: bool = False
    any_product: bool = False
    free: tuple[str, ...] = ()
    flat: bool = False
    quick: int | None = None
    assumes: Mapping[str, str] = field(default_factory=dict)
    covered: Mapping[str, Any] | Callable[
        [Mapping[str, Any]], Mapping[str, Any] | None] | None = None

    def covered_of(self, instance: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The instance in which an instance's `Cover`s are looked for; None: in itself."""
        return self.covered(instance) if callable(self.covered) else self.covered

    def depth_of(self, instance: Mapping[str, Any]) -> int:
        """Cycles of the bounded check of an instance."""
        return self.depth(instance) if callable(self.depth) else self.depth


@dataclass(frozen=True)
class Exploration:
    """Worst cases of one of the block's bounds, found by visiting every state.

    The block runs in an environment that chooses in every clock; every choice is made in every
    state that can be reached (`cyclebound.sim.proof.explore`). For blocks of few registers.

    Attributes
    ----------
    name : str
        Unique within the block, among its properties too.
    says : str
        What the environment may do, in a sentence.
    what : str
        The requests (`BoundBinding.what`) whose longest time is looked for.
    environment : callable
        Makes the environment (`cyclebound.sim.proof.explore.ExploredTop`) from the component.
    kinds : callable
        From an instance and an index of the probe: the kind of request at that place, as
        requesters declare it; None if there are none.
    instances : tuple of mappings
        The component's parameters, one exploration each.
    quick : int
        How many of the instances, from the first, the quick level visits.
    """

    name: str
    says: str
    what: str
    environment: Callable[[wiring.Component], wiring.Component]
    kinds: Callable[[Mapping[str, Any], Mapping[str, int]], Mapping[str, int] | None]
    instances: tuple[Mapping[str, Any], ...]
    quick: int = 0


@dataclass(frozen=True)
class FpgaTarget:
    """The configuration and device for which clock rate and area are quoted."""

    configuration: str
    device: str = "ecp5-85k"


@dataclass(frozen=True)
class MutationTarget:
    """The mutants with which the full level measures what a block's checks detect.

    Attributes
    ----------
    configuration : str
        Of the block.
    count : int
        How many mutants, with seed 1.
    """

    configuration: str
    count: int = 100


@dataclass(frozen=True)
class Picture:
    """Something to look at beside the worst requests: a curve, a roofline, a mapped grid.

    Attributes
    ----------
    name : str
        Unique within the block.
    caption : str
        Describes the picture in a sentence.
    draw : str
        ``module:function`` that returns a matplotlib figure; imported only when it is drawn.
    arguments : mapping
        Its keyword arguments.
    kept : str
        The JSON file that testbenches leave in their job's folder, handed to the function as its
        first argument; empty: it needs no simulation.
    testbenches : tuple[str, ...]
        Those that leave the file; `cyclebound picture` runs the first of them that it can.
    trace : str
        ``module:function`` that returns, for the same arguments, a trace in the trace event format
        (JSON), which the report offers for Perfetto; empty: there is none.
    thorough : bool
        A regression draws it in the full level only: it takes minutes.
    """

    name: str
    caption: str
    draw: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    kept: str = ""
    testbenches: tuple[str, ...] = ()
    thorough: bool = False
    trace: str = ""


@dataclass(frozen=True)
class Block:
    """A block of the catalogue.

    Attributes
    ----------
    name : str
        ``family.block``; its four files carry this name.
    summary : str
        One line.
    component : callable
        The component's class; or left out, with ``sources`` and ``top`` instead.
    sources, top : tuple[str, ...], str
        Files in Verilog, SystemVerilog or VHDL, and the name of the module that is the block
        (`cyclebound.sim.netlist.verilog_module`). Its ports, without clock and reset, are the
        block's.
    configurations : mapping
        Named values of its parameters.
    testbenches, bounds, properties : tuples
        Its testbenches, the bounds that it keeps, and the properties that are proved.
    explorations : tuple[Exploration, ...]
        Where every state is visited.
    checker : callable or None
        Makes the bound checker that watches simulations, from the component.
    mutants : MutationTarget or None
        What its mutation score in the full level is of.
    fpga : FpgaTarget or None
        What the clock rate and area are quoted for.
    signals : tuple[str, ...]
        The signals of the simulated component to show in waveforms, as dotted paths below the
        top.
    unused_inputs : tuple[str, ...]
        Input ports that belong to its interface, but that it does not read.
    pictures : tuple[Picture, ...]
        Pictures in the report besides those of worst requests.
    registers : RegisterTable or None
        The registers that software sees (`cyclebound verilog --registers`).
    """

    name: str
    summary: str
    component: Make | None = None
    configurations: Mapping[str, Configuration] = field(default_factory=dict)
    testbenches: tuple[Testbench, ...] = ()
    bounds: tuple[BoundBinding, ...] = ()
    properties: tuple[Property, ...] = ()
    explorations: tuple[Exploration, ...] = ()
    checker: Callable[[wiring.Component], wiring.Component] | None = None
    fpga: FpgaTarget | None = None
    signals: tuple[str, ...] = ()
    unused_inputs: tuple[str, ...] = ()
    pictures: tuple[Picture, ...] = ()
    mutants: MutationTarget | None = None
    sources: tuple[str, ...] = ()
    top: str = ""
    registers: RegisterTable | None = None

    def __post_init__(self) -> None:
        if self.component is None and self.sources and isinstance(self.sources, list | tuple):
            from cyclebound.sim.netlist.verilog_module import VerilogModule
            object.__setattr__(self, "component", VerilogModule(self.sources, self.top))

    @property
    def shown(self) -> tuple[Property | Exploration, ...]:
        """What is shown of it without a testbench: its properties and explorations."""
        return (*self.properties, *self.explorations)

    @property
    def family(self) -> str:
        return self.name.partition(".")[0]

    def configuration(self, name: str | None) -> tuple[str, Configuration]:
        """The configuration of that name, or the first. Raises `UserError`."""
        if name is None:
            return next(iter(self.configurations.items()))
        if name not in self.configurations:
            raise unknown(f"configuration of {self.name}", name, self.configurations)
        return name, self.configurations[name]

    def testbench(self, name: str) -> Testbench:
        """The testbench of that name. Raises `UserError`."""
        by_name = {testbench.name: testbench for testbench in self.testbenches}
        if name not in by_name:
            raise unknown(f"testbench of {self.name}", name, by_name)
        return by_name[name]

    def left_out(self, testbench: Testbench) -> tuple[str, ...]:
        """The tests of its module that ``testbench`` does not run: other testbenches name them."""
        if testbench.tests is not None:
            return ()
        return tuple(sorted({test for other in self.testbenches for test in other.tests or ()
                             if other.module == testbench.module}))

    def picture(self, name: str | None) -> Picture:
        """The picture of that name, or the first. Raises `UserError`."""
        by_name = {picture.name: picture for picture in self.pictures}
        if not by_name:
            raise UserError(f"{self.name} has no pictures")
        if name is not None and name not in by_name:
            raise unknown(f"picture of {self.name}", name, by_name)
        return by_name[name] if name else self.pictures[0]

    @property
    def maker(self) -> Make:
        """What makes the component. Raises TypeError for a block that has none."""
        if self.component is None:
            raise TypeError("it has no component")
        return self.component

    def default_of(self, parameter: str) -> object:
        """The component's default for a parameter.

        `inspect.Parameter.empty` if it has no default, or no such parameter.
        """
        argument = inspect.signature(self.maker).parameters.get(parameter)
        return inspect.Parameter.empty if argument is None else argument.default

    def make(self, parameters: Mapping[str, Any]) -> wiring.Component:
        """The component with these parameters. Raises `UserError` with the component's message."""
        try:
            accepted = inspect.signature(self.maker).parameters
            for name in parameters:
                if name not in accepted:
                    raise unknown(f"parameter of {self.name}", name, accepted)
            return self.maker(**parameters)
        except (TypeError, ValueError) as error:
            raise UserError(f"{self.name}: {error}") from error
        except UserError:
            raise
        except MemoryError as error:
            values = ", ".join(f"{name}={value}" for name, value in parameters.items())
            raise UserError(f"{self.name}: too large for this machine's memory with {values}"
                            ) from error
        except Exception as error:  # whatever a user's component does
            raise UserError(f"{self.name}: {type(error).__name__}: {error}") from error

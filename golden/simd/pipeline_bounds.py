"""Bounds of the compute unit: from an instruction's issue to another one's.

Cycles are counted from the one after the first issue to the second issue, which is the difference
of the two. A token commits a fixed number of cycles after its issue, so that commits show the same.
``machine`` is a `Machine` or what `machine_named` takes: *W* warps, *R* passes of the reciprocal
units over a warp, *d* decode and *e* execute stages, ``D = d + e``, and a divider of *c* cycles.
``operand`` is the one through which the second instruction depends on the first; it is fetched in
decode stage ``k = min(operand, d - 1)``.

Ref: Sim-D, section 3.1; the paper states stages, issue order and units. What each of these costs
was measured on its authors' model.
"""

from typing import Annotated

from cyclebound.golden.bound import Range, bound
from cyclebound.golden.simd.machine import Machine, machine_named

__all__ = ["access_turn", "division", "division_again", "division_dependent", "emptied",
           "end_turn", "injected", "jump_not_taken", "jump_taken", "push_to_pop", "scalar",
           "scalar_dependent", "special", "special_dependent", "vector", "vector_dependent",
           "vector_jump"]

Operand = Annotated[int, Range(0, 2, says="operand that depends: 0, 1 or 2")]
AnyMachine = str | Machine

_ANYTHING = "the other work-group has computed before, and may transfer meanwhile"
_SOURCE = "this project, from Sim-D, section 3.1"


def _sizes_and_depth(machine: AnyMachine) -> tuple[Machine, int]:
    sizes = machine_named(machine)
    return sizes, sizes.decode_stages + sizes.execute_stages


def _stage(machine: Machine, operand: int) -> int:
    return min(operand, machine.decode_stages - 1)


@bound(formula="1", source=_SOURCE, environment=_ANYTHING)
def scalar(*, machine: AnyMachine) -> int:
    """From a scalar instruction to the next, which does not depend on it.

    Derivation: "in-order, single issue"; a scalar instruction is one token.
    """
    machine_named(machine)
    return 1


@bound(formula="D - k", source=_SOURCE, environment=_ANYTHING)
def scalar_dependent(*, machine: AnyMachine, operand: Operand) -> int:
    """From a scalar instruction to one that reads its result.

    Derivation: the result is there *D* cycles after the issue, and is fetched *k* cycles after the
    second one's.
    """
    sizes, depth = _sizes_and_depth(machine)
    return depth - _stage(sizes, operand)


@bound(formula="W", source=_SOURCE, environment=_ANYTHING)
def vector(*, machine: AnyMachine) -> int:
    """From a vector instruction to the next, which does not depend on it.

    Derivation: a token for each warp, one in each cycle.
    """
    return machine_named(machine).warps


@bound(formula="max(W, D - k)", source=_SOURCE, environment=_ANYTHING)
def vector_dependent(*, machine: AnyMachine, operand: Operand) -> int:
    """From a vector instruction to one that reads its result.

    Derivation: each warp depends on its own result only, and comes *W* cycles later, or *D - k*.
    """
    sizes, depth = _sizes_and_depth(machine)
    return max(sizes.warps, depth - _stage(sizes, operand))


@bound(formula="W * R", source=_SOURCE, environment=_ANYTHING)
def special(*, machine: AnyMachine) -> int:
    """From a reciprocal, root, sine or cosine to the next instruction, which does not depend on it.

    Derivation: "one RCP-unit for every four SP-units": *R* passes over each warp, one in a cycle.
    """
    sizes = machine_named(machine)
    return sizes.warps * sizes.passes


@bound(formula="max(W * R, R - 1 + D - k)", source=_SOURCE, environment=_ANYTHING)
def special_dependent(*, machine: AnyMachine, operand: Operand) -> int:
    """From a reciprocal, root, sine or cosine to an instruction that reads its result.

    Derivation: the first warp is complete with its last pass, ``R - 1`` cycles after its first.
    """
    sizes, depth = _sizes_and_depth(machine)
    return max(sizes.warps * sizes.passes, sizes.passes - 1 + depth - _stage(sizes, operand))


@bound(formula="c - e + 1", source=_SOURCE, environment=_ANYTHING)
def division(*, machine: AnyMachine) -> int:
    """From a division to the next instruction, which is none and does not depend on it.

    Derivation: the next result must not come before, and it takes *e* cycles where this takes *c*.
    """
    sizes = machine_named(machine)
    return sizes.divider_cycles - sizes.execute_stages + 1


@bound(formula="c + 1", source=_SOURCE, environment=_ANYTHING)
def division_again(*, machine: AnyMachine) -> int:
    """From a division to another, which does not depend on it.

    Derivation: the divider is "non-pipelined", and gives its result away for one cycle.
    """
    return machine_named(machine).divider_cycles + 1


@bound(formula="d + c - k", source=_SOURCE, environment=_ANYTHING)
def division_dependent(*, machine: AnyMachine, operand: Operand) -> int:
    """From a division to an instruction other than a division that reads its result.

    Derivation: as `scalar_dependent`, with *c* cycles in the place of *e*.
    """
    sizes = machine_named(machine)
    return sizes.decode_stages + sizes.divider_cycles - _stage(sizes, operand)


@bound(formula="D + 1", source=_SOURCE, environment=_ANYTHING)
def jump_taken(*, machine: AnyMachine) -> int:
    """From a jump that is taken to the instruction at its target.

    Derivation: the target is fetched in the cycle of the commit, *D* cycles after the issue.
    """
    return _sizes_and_depth(machine)[1] + 1


@bound(formula="1", source=_SOURCE, environment=_ANYTHING)
def jump_not_taken(*, machine: AnyMachine) -> int:
    """From a jump that is not taken to the next instruction.

    Derivation: what follows is fetched as if there were no jump.
    """
    machine_named(machine)
    return 1


@bound(formula="W + D + 1", source=_SOURCE, environment=_ANYTHING)
def vector_jump(*, machine: AnyMachine) -> int:
    """From a call or a cpop to the instruction at its target.

    Derivation: the last warp commits ``W - 1 + D`` cycles after the first one's issue; in the next
    cycle the masks are seen and the target is fetched.
    """
    sizes, depth = _sizes_and_depth(machine)
    return sizes.warps + depth + 1


@bound(formula="W + D + 1", source=_SOURCE, environment=_ANYTHING)
def emptied(*, machine: AnyMachine) -> int:
    """From an instruction that leaves no lane active to the cpop that hardware injects.

    Derivation: as `vector_jump`, but nothing has to be fetched.
    """
    sizes, depth = _sizes_and_depth(machine)
    return sizes.warps + depth + 1


@bound(formula="W + D + 1", source=_SOURCE, environment=_ANYTHING)
def injected(*, machine: AnyMachine) -> int:
    """From a cpop that hardware injects to the instruction at its target.

    Derivation: as `vector_jump`.
    """
    sizes, depth = _sizes_and_depth(machine)
    return sizes.warps + depth + 1


@bound(formula="2 W + D + e", source=_SOURCE, environment=_ANYTHING)
def push_to_pop(*, machine: AnyMachine) -> int:
    """From a cpush to the instruction after a cpop that follows it at once.

    Derivation: the cpop waits until the last pushing warp, issued ``W - 1`` cycles after the first,
    is *e* cycles old; from there, `vector_jump`.
    """
    sizes, depth = _sizes_and_depth(machine)
    return 2 * sizes.warps + depth + sizes.execute_stages


@bound(formula="D + 1", source=_SOURCE,
       environment="the other work-group is ready before the access is committed")
def access_turn(*, machine: AnyMachine) -> int:
    """From an access to the other work-group's first instruction.

    Derivation: the access is committed *D* cycles after its issue, and in that cycle the other
    work-group's instruction is fetched.
    """
    return _sizes_and_depth(machine)[1] + 1


@bound(formula="W + D + 1", source=_SOURCE,
       environment="the other work-group is ready before the first one ends")
def end_turn(*, machine: AnyMachine) -> int:
    """From an exit of all lanes to the other work-group's first instruction.

    Derivation: as `vector_jump`; without an entry on the control stack, the work-group has ended.
    """
    sizes, depth = _sizes_and_depth(machine)
    return sizes.warps + depth + 1

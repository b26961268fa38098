"""Faults in a block's RTL that a proof has to find."""

import dataclasses

from cyclebound.sim import catalogue
from cyclebound.sim.proof.prove import prove
from kit.faults import edited

__all__ = ["refuted"]


def refuted(block, name, *edits, instance=0, module=None):
    """What the proof of a property says of a block with these edits in its source.

    Parameters
    ----------
    block : str
        In the catalogue.
    name : str
        Of the property.
    edits : tuples (old, new)
        Text of the module of the block's component.
    instance : int
        Which of the property's.
    """
    block = catalogue.load().find(block)
    claim, = (claim for claim in block.properties if claim.name == name)
    made = edited(block.component.__module__, *edits)
    broken = dataclasses.replace(block, component=getattr(made, block.component.__name__))
    proof = prove(broken, claim, claim.instances[instance])
    assert proof.status == "failed", proof.status
    assert proof.trace is not None
    return proof.detail

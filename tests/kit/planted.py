"""Faults in a block's RTL that a proof has to find."""

import dataclasses

from cyclebound.sim import catalogue
from cyclebound.sim.proof.prove import prove
from kit.faults import edited

__all__ = ["refuted"]


def refuted(block, name, *edits, part=None, instance=0, status="failed"):
    """What the proof of a property says of a block with these edits in its source.

    Parameters
    ----------
    block : str
        In the catalogue.
    name : str
        Of the property.
    edits : tuples (old, new)
        Text of the module of the block's component.
        Without any it is as it is, where the fault is in a part of it.
    part : str or None
        The module to edit instead, one that the component's imports.
    instance : int
        Which of the property's.
    status : str
        What becomes of it; ``bounded``: it is the induction that breaks.
    """
    block = catalogue.load().find(block)
    claim, = (claim for claim in block.properties if claim.name == name)
    if edits:
        made = edited(block.component.__module__, *edits, part=part)
        block = dataclasses.replace(block, component=getattr(made, block.component.__name__))
    proof = prove(block, claim, claim.instances[instance])
    assert proof.status == status, proof.detail
    assert (proof.trace is not None) == (status == "failed")
    return proof.detail

"""Random traffic: a stream of random payloads at random times."""

from amaranth.hdl import Cat, Module, Shape, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.harness.lfsr_spec import (
    COIN_SEED,
    COIN_STEPS,
    COIN_WIDTH,
    LANE_STEPS,
    LANE_WIDTH,
    lane_seed,
)
from cyclebound.hdl.harness.lfsr import Lfsr

__all__ = ["LfsrSource"]


class LfsrSource(wiring.Component):
    """Offers random bits; in each cycle that it could make a new offer, with a given probability.

    Latency: an offer is made one cycle after its coin was thrown. Throughput: one item per
    cycle with ``threshold`` 256. An offer, once made, stays until it is taken, whatever
    ``enable`` and ``threshold`` do (stream rule: a source keeps its offer). The payloads are a
    function of the seed only, not of when they were taken.

    Parameters
    ----------
    shape : ShapeLike
        Payload, at least 1 bit.

    Members
    -------
    enable : In(1)
        New offers may be made.
    threshold : In(9)
        Probability of a new offer, in 1/256; 256 and above: always.
    load : In(1)
        Start over from ``seed``; ignored while an item is on offer.
    seed : In(64)
        Mixed into the first state of every register inside; 0 is as after reset. Neighbouring
        numbers make traffic that starts alike: ``lfsr_spec.spread_seed`` spreads them.
    source : Out(stream.Signature(shape))
        The items.
    """

    def __init__(self, *, shape):
        try:
            bits = Shape.cast(shape).width
        except TypeError as error:
            raise TypeError(f"Payload must have a shape, not {shape!r}") from error
        if bits < 1:
            raise ValueError(f"Payload must have at least 1 bit, not {bits}")
        self.shape = shape
        super().__init__({
            "enable": In(1),
            "threshold": In(9),
            "load": In(1),
            "seed": In(LANE_WIDTH),
            "source": Out(stream.Signature(shape)),
        })

    def elaborate(self, platform):
        m = Module()
        source = self.source
        bits = Shape.cast(self.shape).width
        load = self.load & ~source.valid

        # The coin is thrown whenever nothing will be on offer in the next cycle otherwise.
        m.submodules.coin = coin = Lfsr(width=COIN_WIDTH, steps=COIN_STEPS,
                                            init=COIN_SEED)
        throw = self.enable & ~load & (~source.valid | source.ready)
        m.d.comb += [
            coin.enable.eq(throw),
            coin.load.eq(load),
            coin.seed.eq(self.seed ^ COIN_SEED),
        ]
        with m.If(throw):
            m.d.sync += source.valid.eq(coin.value[:COIN_STEPS] < self.threshold)
        with m.Elif(source.ready):
            m.d.sync += source.valid.eq(0)

        # Payload lanes move when an item is taken, and hold it on offer until then.
        lanes = []
        for i in range(-(-bits // LANE_STEPS)):
            lane = Lfsr(width=LANE_WIDTH, steps=LANE_STEPS, init=lane_seed(i))
            m.submodules[f"lane_{i}"] = lane
            m.d.comb += [
                lane.enable.eq(source.valid & source.ready),
                lane.load.eq(load),
                lane.seed.eq(self.seed ^ lane_seed(i)),
            ]
            lanes.append(lane.value[:LANE_STEPS])
        m.d.comb += Value.cast(source.payload).eq(Cat(lanes))

        return m

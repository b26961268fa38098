"""The DRAM controller after an AXI4 port: by itself, and with a DFI PHY."""

import dataclasses
import functools

from cyclebound.golden.dram import axi_bounds as bounds
from cyclebound.golden.dram import axi_dfi_bounds as dfi_bounds
from cyclebound.hdl.dram.axi_dfi_controller import AxiDfiController
from cyclebound.hdl.dram.axi_port import AxiController, AxiPort
from cyclebound.sim.catalogue.dram_dfi import DFI_SMALL, DISTANCES, powered_up
from cyclebound.sim.describe.block import (
    Block,
    BoundBinding,
    Configuration,
    FpgaTarget,
    Property,
    Testbench,
)
from cyclebound.tb.dram.axi_port_properties import AxiPortCheck, AxiPortProof, AxiRules
from cyclebound.tb.dram.controller_properties import DramDistancesProof
from cyclebound.tb.probe import Probe

# Cycles in which the client is not ready do not count.
_read = functools.partial(
    Probe, start="s_axi_arvalid & s_axi_arready", end="s_axi_rvalid & s_axi_rready & s_axi_rlast",
    ticks="(s_axi_rvalid == 0) | s_axi_rready", unit="unstalled cycles")
# WLAST may be astray: which word is the last, AWLEN says, and whether it is of this class.
_WORD = "s_axi_wvalid & s_axi_wready"
_WRITE = Probe(start=f"{_WORD} & declared.last",
               end=f"s_axi_bvalid & s_axi_bready & held(declared.last, {_WORD})",
               ticks="(s_axi_bvalid == 0) | s_axi_bready", unit="unstalled cycles")


# a PHY whose write data leave with their command's delay, and whose reads take two clocks of 1:4
_800 = {"part": "ddr3-800e-x16", "wrlat": 4, "wrdata": 1, "rddata_en": 5, "rdlat": 10}


def small_port(**parameters):
    """The port alone, with memories of two rows: what they hold decides nothing but R's data."""
    port = AxiPort(**parameters)
    port.depth = 2
    return port


BLOCKS = (
    Block(
        name="dram.axi_port",
        summary="AXI4 bursts of any kind to DRAM, one after the other, each with its bound",
        component=AxiController,
        configurations={
            # Sim-D, Table 1
            "2bg": Configuration({"part": "ddr4-3200aa-x16"}),
            "ddr3": Configuration({"part": "ddr3-1600-module", "id_width": 8}),
            # 2 MiB, so that there is something beyond
            "small": Configuration({"part": "ddr4-1866m-x16", "capacity": 1 << 19,
                                    "id_width": 2}),
        },
        testbenches=(
            Testbench("axi", "cyclebound.tb.dram.axi_port", quick=("small",)),
            Testbench("more", "cyclebound.tb.dram.axi_port", quick=(),
                      tests=("every_length", "words_in_part", "bursts_that_wrap_or_stay",
                             "traffic", "traffic_with_stalls", "refreshes")),
        ),
        bounds=(
            BoundBinding("read", bounds.axi_read, probe=_read(
                request={"transfers": "s_axi_arlen + 1", "size": "s_axi_arsize"})),
            BoundBinding("write", bounds.axi_write, probe=_WRITE),
            BoundBinding("read_alone", bounds.axi_read_alone, probe=_read()),
            BoundBinding("write_alone", bounds.axi_write_alone, probe=_WRITE),
            BoundBinding("read_refused", bounds.axi_refused_read, probe=_read()),
            BoundBinding("write_refused", bounds.axi_refused_write, probe=_WRITE),
        ),
        properties=(
            Property(
                name="handshakes",
                says="offers stay as they are, B comes after a write's last word, RLAST with a "
                     "read's, each with its burst's identifier; one burst at a time, and none is "
                     "passed over twice; whatever the controller behind the port does",
                checker=AxiPortProof,
                instances=({"id_width": 1, "words": 1 << 19},),
                depth=9,
                induction=2,
                top=small_port,
            ),
        ),
        checker=AxiPortCheck,
        fpga=FpgaTarget("2bg"),
        signals=("top.dut.s_axi_arvalid", "top.dut.s_axi_arready", "top.dut.s_axi_awvalid",
                 "top.dut.s_axi_awready", "top.dut.s_axi_wvalid", "top.dut.s_axi_rvalid",
                 "top.dut.s_axi_bvalid", "top.dut.port.request__valid",
                 "top.dut.port.completion__valid", "top.dut.command"),
    ),
    Block(
        name="dram.axi_dfi_controller",
        summary="AXI4 in, DFI out: bursts to a DDR3 device that a PHY of 1:2 or 1:4 drives",
        component=AxiDfiController,
        configurations={
            # 2 MiB, so that there is something beyond
            "small": Configuration({**_800, "ratio": 4, "capacity": 1 << 19, "id_width": 2,
                                    "hurry": 1000}),
            "1600_1to2": Configuration({
                "part": "ddr3-1600k-x16", "ratio": 2, "wrlat": 7, "wrdata": 1, "rddata_en": 10,
                "rdlat": 10, "hurry": 1000}),
            "board": Configuration({**_800, "ratio": 4}),
        },
        testbenches=(Testbench("axi", "cyclebound.tb.dram.axi_dfi_controller", quick=()),),
        bounds=(
            BoundBinding("read", dfi_bounds.axi_dfi_read, probe=_read(
                request={"transfers": "s_axi_arlen + 1", "size": "s_axi_arsize"})),
            BoundBinding("write", dfi_bounds.axi_dfi_write, probe=_WRITE),
            BoundBinding("read_alone", dfi_bounds.axi_dfi_read_alone, probe=_read()),
            BoundBinding("write_alone", dfi_bounds.axi_dfi_write_alone, probe=_WRITE),
            BoundBinding("read_refused", dfi_bounds.axi_dfi_refused_read, probe=_read()),
            BoundBinding("write_refused", dfi_bounds.axi_dfi_refused_write, probe=_WRITE),
        ),
        properties=(dataclasses.replace(
            DISTANCES,
            checker=lambda target: DramDistancesProof(
                target, target.controller.controller.arbiter, powers_up=True),
            instances=({**DFI_SMALL, "id_width": 1},),
            top=powered_up(AxiDfiController)),),
        checker=AxiRules,
        fpga=FpgaTarget("board"),
        signals=("top.dut.s_axi_arvalid", "top.dut.s_axi_arready", "top.dut.s_axi_awvalid",
                 "top.dut.s_axi_awready", "top.dut.s_axi_wvalid", "top.dut.s_axi_rvalid",
                 "top.dut.s_axi_bvalid", "top.dut.command", "top.dut.dfi_cs_n_p0",
                 "top.dut.dfi_cs_n_p2"),
    ),
)

"""Golden model of the accelerator's register interface: what each access does, and when."""

from dataclasses import dataclass, field

from cyclebound.golden.simd.host_registers import REGISTERS, Register, Status
from cyclebound.golden.simd.machine import Machine
from cyclebound.golden.simd.program import INSTRUCTIONS
from cyclebound.golden.simd.scheduler import CODES

__all__ = ["HostClocks", "HostModel"]


_WRITABLE = {row.address: one.width for row in REGISTERS.rows for one in row.fields
             if one.access == "read-write"}


@dataclass
class HostModel:
    """The host's registers, and the commands that they give to the ``machine``.

    ``kept`` is what was written. A start without a grid, a program or in the middle of a burst is
    refused, and so is one with a width that the machine does not have or an unknown policy, and
    whatever comes while a kernel runs.
    """

    machine: Machine
    kept: dict[Register, int] = field(default_factory=dict)
    refused: bool = False

    def write(self, address: int, value: int, *, idle: bool) -> tuple[str, dict[str, int]] | None:
        """The message that a write sends: ``start``, ``mapping`` or ``chip``, with its fields."""
        if address in _WRITABLE:
            register = Register(address)
            self.kept[register] = value & (1 << _WRITABLE[register]) - 1
        elif address == Register.STATUS and value & Status.REFUSED:
            self.refused = False
        elif address == Register.CONTROL and value & 1:
            return self._start(idle)
        elif address == Register.MAP:
            return self._map(value, idle)
        return None

    def _of(self, register: Register) -> int:
        return self.kept.get(register, 0)

    def _start(self, idle: bool) -> tuple[str, dict[str, int]] | None:
        x, y = self._of(Register.GRID_X), self._of(Register.GRID_Y)
        length, address = self._of(Register.INSTRUCTIONS), self._of(Register.PROGRAM)
        width = self._of(Register.WIDTH)
        sizes = 0 < x < 1 << 20 and 0 < y < 1 << 20 and 0 < length <= INSTRUCTIONS
        supported = 1 << width in self.machine.widths and self._of(Register.POLICY) < len(CODES)
        if not idle or not sizes or not supported or address % 16:
            self.refused = True
            return None
        return "start", {"address": address, "instructions": length, "x": x, "y": y,
                         "width": width, "policy": self._of(Register.POLICY)}

    def _map(self, value: int, idle: bool) -> tuple[str, dict[str, int]] | None:
        x, y = self._of(Register.SIZE_X), self._of(Register.SIZE_Y)
        number, address = value & 31, self._of(Register.ADDRESS)
        chip = bool(value & 1 << 8)
        most = 1 << (14 if chip else 20)
        if not idle or x >= most or y >= most or (chip and address >= 1 << 14):
            self.refused = True
            return None
        return "chip" if chip else "mapping", {"number": number, "address": address, "x": x,
                                               "y": y}

    def read(self, address: int, shown: dict[str, int]) -> int:
        """A register's content; ``shown`` is what the accelerator shows."""
        if address == Register.STATUS:
            return (Status.IDLE * shown["idle"] | Status.FAULT * shown["fault"]
                    | Status.LOADED * shown["loaded"] | Status.REFUSED * self.refused)
        mask = (1 << 32) - 1
        measured: dict[int, int] = {
            Register.CYCLES_LOW: shown["cycles"] & mask,
            Register.CYCLES_HIGH: shown["cycles"] >> 32,
            Register.FAULT: shown["cause"] | shown["slot"] << 8 | shown["index"] << 16,
            Register.GROUP_LOW: shown["number"] & mask,
            Register.GROUP_HIGH: shown["number"] >> 32,
        }
        if address in measured:
            return measured[address]
        return self._of(Register(address)) if address in self.kept else 0


@dataclass
class HostClocks:
    """The register interface clock by clock.

    A write is taken when its address and its data are both on offer and the one before has been
    answered, or is being. It is carried out a clock later, with what it finds in the registers
    then, and answered from the clock after that; a mapping is on offer in between until it is
    taken. A read looks its register up in the clock after its address, before a write of that clock
    changes it, and shows it from the next one on.

    Attributes
    ----------
    model : HostModel
        What accesses do.
    """

    model: HostModel
    _acts: tuple[int, int, bool] | None = None  # address, word, all of its bytes
    _offers: dict[str, int] | None = None
    _answers: bool = False
    _looks: int | None = None
    _shows: int | None = None

    def clock(self, axi: dict[str, int], shown: dict[str, int], *, ready: bool) -> dict[str, int]:
        """The outputs in a clock with these inputs, by name; fields of what is not valid are left
        out. Then the next clock begins.

        ``axi`` has the subordinate's inputs without their prefix; ``shown`` what the accelerator
        shows, and ``ready`` whether it takes a mapping.
        """
        takes = (self._acts is None and self._offers is None
                 and not (self._answers and not axi["bready"])
                 and bool(axi["awvalid"] and axi["wvalid"]))
        hears = (self._looks is None and not (self._shows is not None and not axi["rready"])
                 and bool(axi["arvalid"]))
        out = {"awready": int(takes), "wready": int(takes), "bvalid": int(self._answers),
               "arready": int(hears), "rvalid": int(self._shows is not None),
               "mapping.valid": int(self._offers is not None), "chip.valid": 0, "start.valid": 0}
        out |= {f"mapping.{name}": value for name, value in (self._offers or {}).items()}
        if self._answers:
            out["bresp"] = 0
        if self._shows is not None:
            out |= {"rdata": self._shows, "rresp": 0}

        if self._looks is not None:
            self._shows = self.model.read(self._looks, shown)
        elif axi["rready"]:
            self._shows = None
        self._looks = axi["araddr"] if hears else None

        if axi["bready"]:
            self._answers = False
        if self._offers is not None and ready:
            self._offers, self._answers = None, True
        if self._acts is not None:
            address, word, whole = self._acts
            sent = self.model.write(address, word, idle=bool(shown["idle"])) if whole else None
            if sent and sent[0] == "mapping":
                self._offers = sent[1]
            else:
                self._answers = True
            if sent and sent[0] != "mapping":
                out |= {f"{sent[0]}.valid": 1} | {f"{sent[0]}.{name}": value
                                                  for name, value in sent[1].items()}
        self._acts = (axi["awaddr"], axi["wdata"], axi["wstrb"] == 0b1111) if takes else None
        return out

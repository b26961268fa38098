"""Issue delays of 1D tiles by hand: two chains of commands, and which of them is longer.

`tile_issue_delay` follows the arbiter's rules from every alignment and covers any part. Here is
where its numbers come from, for four kinds of parts, as a derivation that shares nothing with it.
"""

from collections.abc import Callable

from cyclebound.golden.bound import NotCovered, bound
from cyclebound.golden.dram.bounds import check_request, recovery
from cyclebound.golden.dram.timing import Part, part_named

__all__ = ["tile_chains", "tile_limit"]


def tile_limit(part: Part) -> int:
    """Bursts of the longest 1D tile that touches no bank in two rows, at any alignment."""
    return (part.banks // 2 - 1) * 2 * part.bursts_per_row + 1


def _wide(part: Part, b: int) -> int:
    if b <= 4:
        return (b - 1) * part.nRRD_S
    if b <= 6:
        return 2 * part.nRRD_S + (b - 4) * part.nCCD_L + part.nCCD_S
    if b == 7:
        return 3 * part.nRRD_S + part.nCCD_L + part.nCCD_S
    if b % 2:
        return part.nRRD_S + 2 * part.nCCD_L + (b - 4) * part.nCCD_S
    return 2 * part.nRRD_S + part.nCCD_L + (b - 5) * part.nCCD_S


def _narrow(part: Part, b: int) -> int:
    if b <= 4:
        return (b - 1) * part.nRRD_S
    uneven = 0 if b % 2 else part.nCCD_L - part.nCCD_S
    return 2 * part.nRRD_S + part.nCCD_L + (b - 4) * part.nCCD_S + uneven


def _four(part: Part, b: int) -> int:
    starved = b > 4 and b % 2 == 0 and (b - 3) // (2 * part.bursts_per_row) % 2
    return (b - 1) * part.nCCD_S + (part.nCCD_L - part.nCCD_S if b == 5 or starved else 0)


def _one(part: Part, b: int) -> int:
    if b <= 4:
        return (b - 1) * part.nRRD_S
    if b == 6:
        return part.nRRD_S + 4 * part.nCCD_S
    return 2 * part.nRRD_S + (b - 3) * part.nCCD_S


def _regime(part: Part) -> Callable[[Part, int], int] | None:
    """The chain of column commands for a part's numbers, or None if none was derived."""
    first, short, again, row = part.nRRD_S, part.nCCD_S, part.nCCD_L, part.nRCD
    closing = recovery(part, 0)
    if short != 4 or part.nBURST != 4 or row >= 40 or row in (2 * first, 3 * first):
        return None
    if part.nRC > closing + min(row + 26, (8 if part.bank_groups == 1 else 16) * short):
        return None
    if part.banks < 8 or part.bursts_per_row < 16:
        return None
    if part.bank_groups == 1:
        return _one if first == short + 1 and 8 <= row <= 32 else None
    if again > 2 * short:
        return None
    if part.bank_groups == 2:
        if again >= 7 and first == again + 1 and first < part.nRRD_L < 2 * first:
            return _wide if row > 2 * first + 1 else None
        if short < again == first <= 6 and part.nRRD_L < 2 * first:
            return _narrow if row > first + 2 else None
        return None
    return _four if first == short < again and row > 8 else None


@bound(formula="max(nRCD + CC(b) + nRTP + nRP, min(b - 1, 3) * nRRD_S + nRC); "
               "writes: nCWD + nBURST + nWR for nRTP", source="this project")
def tile_chains(*, part: str | Part, bursts: int, write: int) -> int:
    """LID of a 1D tile of b bursts, up to `tile_limit`: the worst of all alignments.

    **Two chains.** *Activates*: a tile's bursts lie in two banks of different groups by turns, and
    when their row ends in the next two. At most four banks are activated nRRD_S apart (a fifth is
    needed only 256 bursts later); none may be activated again within nRC. So the delay is at
    least ``min(b - 1, 3) * nRRD_S + nRC``. *Column commands*: the first may follow its activate by
    nRCD; from there to the last one it takes CC(b); then the bank recovers (nRTP, or nCWD +
    nBURST + nWR) and precharges (nRP). The delay is the longer of the two.

    **CC(b), two bank groups, nRRD_S = nCCD_L + 1** (x16 at 3200). One after the other, commands
    to alternating groups are nCCD_S apart, to the same group nCCD_L. What costs more is waiting
    for an activate, and a last command in the same group as the one before.

    - b <= 4: each burst lies in its own bank (start two bursts before the row's end) and follows
      its own activate: ``(b - 1) * nRRD_S``.
    - b = 5, 6, same start: the third bank opens at 2 nRRD_S, and before the fourth does, has its
      second burst nCCD_L later; the fourth follows nCCD_S later, with one burst or (b = 6) two of
      them, nCCD_L apart: ``2 * nRRD_S + (b - 4) * nCCD_L + nCCD_S``.
    - b = 7, same start: rule 5 lets the fuller banks of the next pair open first; bank 1 opens
      last, at 3 nRRD_S; the third bank has two bursts left: ``3 * nRRD_S + nCCD_S + nCCD_L``.
    - b odd, from 9, same start: the second bank opened has its second burst nCCD_L after its
      first; now all alternate, nCCD_S apart; but having been ahead by one, its group is used up
      one early, and the last two commands are nCCD_L apart:
      ``nRRD_S + nCCD_L + (b - 4) * nCCD_S + nCCD_L``.
    - b even, from 8, start four before the row's end: the same from the third bank on, which
      opens at 2 nRRD_S as the fourth command: ``2 * nRRD_S + (b - 5) * nCCD_S + nCCD_L``.
      (Eq. 15 counts b = 8 with 7: one too many.)

    **Two groups, nRRD_S = nCCD_L <= 2 nCCD_S - 2** (x16 at 1866 and 2133): from b = 5 the third
    bank's second burst, nCCD_L after its activate's first, is always there: ``2 * nRRD_S +
    nCCD_L + (b - 4) * nCCD_S``, and for even b the last two commands lie in one group.

    **Four groups, nRRD_S = nCCD_S** (x8): banks open as fast as bursts follow: ``(b - 1) *
    nCCD_S``. But a tile that runs over the end of the banks, into the next row of banks 0 and 1,
    finds those nearer (rules 2 and 5): with b = 5 the one burst of bank 0 goes second, and the
    last pair's other bank has its last two bursts in a row: nCCD_L - nCCD_S more. Likewise its
    second bank, passed over until all later bursts are done, may meet its own group at the end:
    b even, ``(b - 3) // 256`` odd.

    **One group, nRRD_S = nCCD_S + 1** (DDR3): as with two groups and nCCD_L = nCCD_S:
    ``2 * nRRD_S + (b - 3) * nCCD_S``; for b = 6 the banks open in another order and one nRRD_S is
    hidden. When the fourth activate would meet a column command (3 nRRD_S = nRCD + nCCD_S) it
    comes one clock later, and so does the end of its nRC.

    **Covered**: eight banks or more, and 128 columns or more, so that a pair of banks holds more
    bursts than wait in its FIFOs, and a tile leaves one only after the end of another was over;
    nBURST = nCCD_S = 4; and numbers for which no activate meets a column command
    (nRCD other than 2 or 3 nRRD_S; greater than 2 nRRD_S + 1, nRRD_S + 2, 8 and 7 in the four
    cases), activates alternate freely (nRRD_L < 2 nRRD_S with two
    groups), and none that waits for its burst comes so late that its nRC outlasts the column
    commands (nRC <= nRTP + nRP + nRCD + 26, for a pair that begins with the tenth burst, and
    nRC <= nRTP + nRP + 16 nCCD_S, 8 with one group, for one that waits for room in a FIFO).
    Others: `NotCovered`. Within these conditions formula and `tile_issue_delay` were compared:
    equal, for the named parts and for random ones.
    """
    device = part_named(part)
    check_request(bursts, write)
    if bursts > tile_limit(device):
        raise NotCovered(f"bursts must be at most {tile_limit(device)} for tile_chains, those of a "
                         f"tile that comes back to no bank, not {bursts}")
    chain = _regime(device)
    if chain is None:
        raise NotCovered(f"{device.name}: tile_chains must have timing numbers of a kind that it "
                         "was derived for; tile_issue_delay covers any")
    closing = recovery(device, write)
    met = int(chain is _one and bursts > 4 and 3 * device.nRRD_S == device.nRCD + device.nCCD_S)
    return max(device.nRCD + chain(device, bursts) + closing,
               min(bursts - 1, 3) * device.nRRD_S + device.nRC + met)

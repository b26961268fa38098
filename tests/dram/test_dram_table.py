"""The searched table of indexed requests, derived anew, and what a killed check has to do again."""

import pytest

from cyclebound.golden.dram.index_table import known_delays
from cyclebound.sim.families.dram import table as dram_table
from cyclebound.sim.families.dram.table import search_all, write_table

pytestmark = pytest.mark.unit

FEW = [request for request in known_delays() if request.rows < 5 and request.bursts < 7]


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """An empty cache."""
    monkeypatch.setenv("CYCLEBOUND_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_short_entries(own_cache):
    found = list(search_all(FEW))
    assert {search.row for search in found} == set(FEW)
    assert not any(search.problem or search.cached for search in found)


@pytest.mark.thorough
def test_all_entries():
    """Hours; what was done before, by this test or by the command, is not done again."""
    assert not [search for search in search_all(known_delays()) if search.problem]


def test_it_goes_on_where_it_was_stopped(own_cache, monkeypatch):
    search = dram_table.longest_request
    done = []

    def killed(*arguments, **kind):
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append(kind)
        return search(*arguments, **kind)

    monkeypatch.setattr(dram_table, "longest_request", killed)
    with pytest.raises(KeyboardInterrupt):
        list(search_all(FEW))
    monkeypatch.setattr(dram_table, "longest_request", search)
    assert [search.cached for search in search_all(FEW)] == [
        number < 3 for number in range(len(FEW))]


def test_wrong_entries(own_cache, tmp_path):
    """Too little, too much, and a number of words from which on it is not the same."""
    right = next(request for request in FEW
                 if request.rows == 3 and request.bursts == 4 and not request.write)
    low, high, early = (right._replace(delay=right.delay - 1),
                        right._replace(delay=right.delay + 1), right._replace(settled=1))
    found = {search.row: search for search in search_all([low, high, early])}
    assert found[low].problem == f"a request takes {right.delay} cycles, the table says {low.delay}"
    assert found[high].problem == (
        f"the longest witness takes {right.delay} cycles, the table says {high.delay}")
    assert found[early].problem.endswith(", the table from 1")
    write_table(tmp_path / "table.csv", [found[low]])
    assert (tmp_path / "table.csv").read_text() == (
        "part,write,rows,bursts,delay,settled\n"
        f"ddr4-3200aa-x16,0,3,4,{right.delay},0\n")


def test_at_the_command_line(cyclebound, own_cache):
    done = cyclebound("dram", "table", "--rows", "2", "--words", "2", CYCLEBOUND_CACHE=own_cache)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("[2/2] ddr4-3200aa-x16: write of 2 words over 2 rows: "
                                "nothing takes 98 cycles (2 steps)\n")
    done = cyclebound("dram", "table", "--rows", "1")
    assert done.returncode == 2
    assert done.stderr == "cyclebound: the table has no such entry\n"

"""Kernels on several cores above DRAM: the command, its file and its table."""

import dataclasses
import re
from pathlib import Path

import pytest

from cyclebound.tools.dataflow import scaling
from cyclebound.tools.dataflow.scaling import (
    main,
    read_scaling,
    run,
    table_of_scaling,
    write_scaling,
)

pytestmark = pytest.mark.unit
DOCS = Path(__file__).parents[2] / "docs"


def test_a_kernel_takes_less_on_two_cores():
    one, two = (run("vector_add", cores, threads=256) for cores in (1, 2))
    assert two.cycles < one.cycles
    assert one.read == two.read == 24  # each line of x, y and z once
    assert one.written == two.written == 8


def test_wrong_memory_is_an_error(monkeypatch):
    monkeypatch.setattr(scaling, "words_of_lines", lambda channels, count, shared: [1] * count)
    with pytest.raises(ValueError, match=r"^fan1, cores 1: \w+ is not the interpreter's$"):
        run("fan1", 1, threads=16)


def test_what_is_written_is_read(tmp_path):
    runs = [run("fan1", 1, threads=16)]
    runs.append(dataclasses.replace(runs[0], cores=15, cycles=runs[0].cycles // 3))
    write_scaling(tmp_path / "f.csv", runs)
    read = read_scaling(tmp_path / "f.csv")
    assert list(read["fan1"].values()) == runs
    assert re.search(r"^\| fan1 \| [\d,]+ \| [\d,]+ \| 3\.00 \|", table_of_scaling(read), re.M)


def test_bad_calls(capsys):
    assert main([]) == main(["f.csv", "nothing"]) == 2
    assert "no kernel 'nothing'; known are vector_add" in capsys.readouterr().err


def test_the_page_has_the_table():
    table = table_of_scaling(read_scaling(DOCS / "dataflow-scaling.csv"))
    assert table in (DOCS / "dataflow-channel.md").read_text()


@pytest.mark.thorough
def test_a_row_of_the_file():
    row = read_scaling(DOCS / "dataflow-scaling.csv")["fan1"][4]
    assert run("fan1", 4) == row

"""Kernels on several cores above DRAM: the command, its file and its table."""

import dataclasses
import re
from pathlib import Path

import pytest

from cyclebound.sim.pictures import scaling as pictures
from cyclebound.tools.dataflow import scaling
from cyclebound.tools.dataflow.scaling import (
    main,
    read_scaling,
    run,
    shared_by_cores,
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


def test_words_that_several_cores_store_are_named():
    assert shared_by_cores("bfs_kernel2", 15) == ["over[0]: cores 0 and 14"]
    assert shared_by_cores("bfs_kernel2", 1) == shared_by_cores("saxpy", 15) == []


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


def test_lines_differ_without_colour_and_show_the_speed_ups():
    runs = read_scaling(DOCS / "dataflow-scaling.csv")
    [axes] = pictures.figure(runs).axes
    lines = {line.get_label(): line for line in axes.lines}
    assert list(lines) == [*runs, "cores"]
    assert len({line.get_marker() for line in lines.values()}) == len(lines)
    assert list(lines["saxpy"].get_xdata()) == [1, 2, 4, 8, 15]
    assert lines["saxpy"].get_ydata()[-1] == 14538 / 3996
    assert axes.get_xlabel() == "cores"
    assert "speed-up over 1 core" in axes.get_ylabel()


def test_the_page_has_the_picture(tmp_path):
    """As its command draws it from the page's numbers: labels and lines."""
    assert "](dataflow-scaling.svg)" in (DOCS / "dataflow-channel.md").read_text()
    drawn = tmp_path / "drawn.svg"
    assert pictures.main([str(DOCS / "dataflow-scaling.csv"), str(drawn)]) == 0
    shape = re.compile(r'<path d="([^"]+)" clip-path|>([^<>\n]+)</text>')
    parts = shape.findall(drawn.read_text())
    assert parts == shape.findall((DOCS / "dataflow-scaling.svg").read_text())
    assert len(parts) > 8


@pytest.mark.parametrize(("text", "message"), [
    ("", "columns must be kernel, cores, .*, not none$"),
    ("kernel,cores\n", "columns must be kernel, cores, .*, not kernel, cores$"),
    ("{}", "has no run$"), ("{}fan1,1,5,1,1,1\n", "line 2: must be a kernel and 6 whole "),
    ("{}fan1,1,5,1,1,1,x\n", "line 2: must be "), ("{}fan1,1,0,1,1,1,1\n", "line 2: must be ")])
def test_bad_files(text, message, tmp_path, capsys):
    head = (DOCS / "dataflow-scaling.csv").read_text().partition("\n")[0] + "\n"
    path = tmp_path / "f.csv"
    path.write_text(text.format(head))
    assert pictures.main([str(path), str(tmp_path / "f.svg")]) == 2
    assert re.search(message, capsys.readouterr().err.strip())
    assert not (tmp_path / "f.svg").exists()


def test_bad_pictures(tmp_path, capsys):
    csv = str(DOCS / "dataflow-scaling.csv")
    assert pictures.main([csv]) == pictures.main([csv, "f.txt"]) == 2
    assert "PICTURE takes a file that ends in .svg" in capsys.readouterr().err
    assert pictures.main([str(tmp_path / "none.csv"), "f.svg"]) == 2
    assert "none.csv: No such file" in capsys.readouterr().err


def test_the_page_has_the_table():
    table = table_of_scaling(read_scaling(DOCS / "dataflow-scaling.csv"))
    assert table in (DOCS / "dataflow-channel.md").read_text()


@pytest.mark.thorough
def test_a_row_of_the_file():
    row = read_scaling(DOCS / "dataflow-scaling.csv")["saxpy"][4]
    assert run("saxpy", 4) == row

"""The architecture of docs/architecture.md: which folder imports which, and where files lie."""

import ast
import graphlib
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HOUSE = ("golden", "hdl", "tb", "tools", "sim")
MODULES = sorted(path for folder in HOUSE for path in (ROOT / folder).rglob("*.py"))
WRITTEN = [*MODULES, *sorted((ROOT / "tests").rglob("*.py"))]
ALLOWED = {"golden": {"golden"}, "hdl": {"golden", "hdl"}, "tb": {"golden", "tb", "tools"},
           "tools": {"golden", "tools"}, "sim": {"golden", "hdl", "tb", "tools", "sim"}}
MAINTENANCE = "tools/maintenance"  # measures and checks the project itself; nothing imports it
ROOMS = ("base", "netlist", "describe", "catalogue", "build", "run", "proof", "judge", "drawing",
         "fpga", "mutation", "export", "regression", "traces", "families", "pictures", "report",
         "cli")  # of sim, as in docs/architecture.md: each imports from itself and those before it
FAMILIES = {path.parent.name for path in (ROOT / "hdl").glob("*/__init__.py")} | {"gpu"}
COMPOSED = {  # systems, of which parts come from other families: which files, and which families
    "dataflow/(channel|dram_processor).*": {"dram"},
    "gpu/heterogeneous.py": {"dram", "noc", "systolic"},
    "noc/composition.py": {"sram"},
    "noc/(end_to_end|execution_model|many_core|shared_dram|wide_dram|dma_tx).*": {"dram"},
    "noc/(compute_tile|read_sink).py": {"sram"},
    "shmac/.*": {"noc"},
    "simd/.*": {"dram"},
    "system/.*": {"dataflow", "dram", "noc", "shmac", "simd", "systolic"},
    "systolic/dram_memory.*": {"dram"},
}
OURS_OUTSIDE = {"golden": {"numpy", "scipy", "networkx", "ortools"}, "hdl": {"amaranth"}}
# Modules that say how long hardware takes, and names of such numbers.
PREDICTS = re.compile(r"(^|_)(bounds?|budget|models?|part|timing|wcet)$")
LATENCY = re.compile(r"(^|_)(CYCLES?|DELAYS?|LATENCY|LATENCIES|STAGES?|TIMES?)$", re.IGNORECASE)
OF_OTHERS = {"AXIInterface"}  # in docstrings: LiteX's
SECTION = re.compile(r"^[A-Z][a-z]+\n-{3,}\n", re.MULTILINE)  # of a docstring: its entries
# an entry that others follow, and whose text ends with a comma, a colon or a conjunction
RUN_ON = re.compile(r"^(\S.*)\n(?: +.*\n)*? +(?:.*[,:;]|.*\b(?:and|or|but))\n(?=\S)", re.MULTILINE)
# Errors of this code, and no caller's: what cannot be, and what a derived class has to define.
OF_OURSELVES = {"AssertionError", "NotImplementedError"}
# How long a DRAM device needs is no prediction: a controller must keep to it, whatever it is.
DEVICE_RULES = {"cyclebound.golden.dram.timing.part_named"}

pytestmark = pytest.mark.unit


def named(path):
    return str(path.relative_to(ROOT))


@cache
def tree(path):
    return ast.parse(path.read_text())


@cache
def imports(path):
    """Full names of what a module imports, wherever in it."""
    names = []
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            names += [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names += [f"{node.module}.{name.name}" for name in node.names]
    return names


def module_of(name):
    """The file that a name of ours comes from."""
    parts = name.split(".")[1:]
    for length in (len(parts), len(parts) - 1):
        path = ROOT.joinpath(*parts[:length]).with_suffix(".py")
        if path.is_file():
            return path
    return ROOT.joinpath(*parts[:-1]) / "__init__.py"


# A rule takes a file and says what in it is against the rule.

def against_the_grain(path):
    inside = path.relative_to(ROOT)
    ours = {name for name in imports(path) if name.startswith("cyclebound.")}
    if inside.parent.as_posix() == MAINTENANCE:
        return set()
    return ({name.split(".")[1] for name in ours} - ALLOWED[inside.parts[0]]
            | {MAINTENANCE for name in ours if name.startswith("cyclebound.tools.maintenance")})


def up_the_stairs(path):
    """Rooms of ``sim`` that are imported from although they come later; or that this is none."""
    _, room, *rest = path.relative_to(ROOT).parts
    if not rest:
        return set()  # what the package itself imports
    if room not in ROOMS:
        return {f"{room} is no room"}
    ours = {name.split(".")[2] for name in imports(path)
            if name.startswith("cyclebound.sim.")}
    return {other for other in ours if ROOMS.index(other) > ROOMS.index(room)}


def of_other_families(path):
    """Families that are imported from, and are neither its own nor part of what it composes: what
    several need is ``harness``, or lies in no family."""
    place = path.relative_to(ROOT)
    family, inside = place.parts[1], "/".join(place.parts[1:])
    ours = {part for name in imports(path) if name.startswith("cyclebound.")
            for part in name.split(".")[2:3]}
    composed = set().union(*(parts for files, parts in COMPOSED.items()
                             if re.fullmatch(files, inside)))
    return (ours & FAMILIES) - composed - {family, "harness"}


def of_others(path):
    outside = OURS_OUTSIDE.get(path.relative_to(ROOT).parts[0])
    others = {name.split(".")[0] for name in imports(path)} - {"cyclebound"}
    return set() if outside is None else others - set(sys.stdlib_module_names) - outside


def models_and_bounds(path):
    """A specification holds structure: no model, no bound, no number of cycles."""
    found = set()
    for name in imports(path):
        source = module_of(name) if name.startswith("cyclebound.golden") else None
        if source and name not in DEVICE_RULES and (
                PREDICTS.search(source.stem) or LATENCY.search(name.rpartition(".")[2])
                or is_module(name) or any(map(is_prediction, tree(source).body))):
            found.add(name)
    return found


def is_module(name):
    """Whether that is a module, or all of one: what is taken from it does not show."""
    return name.endswith(".*") or ROOT.joinpath(*name.split(".")[1:]).with_suffix(".py").is_file()


def is_prediction(node):
    """A model, or a bound."""
    if isinstance(node, ast.FunctionDef):
        return any(ast.unparse(decorator).startswith("bound(") for decorator in node.decorator_list)
    return isinstance(node, ast.ClassDef) and node.name.endswith("Model")


@cache
def names_of_ours(root=ROOT):
    """All names that some module defines, uses or imports, and those of the modules."""
    names = OF_OTHERS | {part for path in WRITTEN
                         for part in path.relative_to(root).with_suffix("").parts}
    fields = {ast.Name: "id", ast.Attribute: "attr", ast.arg: "arg", ast.FunctionDef: "name",
              ast.AsyncFunctionDef: "name", ast.ClassDef: "name"}
    for path in WRITTEN:
        for node in ast.walk(tree(path)):
            if field := fields.get(type(node)):
                names.add(getattr(node, field))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                names |= set(node.value.split("."))  # a name may be made from its text
            elif isinstance(node, ast.alias):
                names |= set(node.name.split("."))
    return names


def references(path):
    """Names between single backticks of docstrings that are nowhere."""
    texts = [ast.get_docstring(node) or "" for node in ast.walk(tree(path)) if isinstance(
        node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)]
    return {name for name in re.findall(r"(?<!`)`([A-Za-z_][\w.]*\w)`(?!`)", "\n".join(texts))
            if not names_of_ours().issuperset(name.split("."))}


def run_on(path):
    """Entries of docstrings that do not end where their sentence does: the next one goes on."""
    found = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for section in SECTION.split(ast.get_docstring(node) or "")[1:]:
                found |= {f"{node.name}: {name}" for name in RUN_ON.findall(section)}
    return found


def unsaid(path):
    """Errors that a public function or method raises, itself or by private functions of its
    module, and its docstring does not name: a constructor's may be named by its class. Of an error
    that a function makes, it says "Raises".
    """
    helpers = private_functions(tree(path))
    return {f"{name}: {error}" for name, node, said in public_functions(tree(path))
            for error in errors_of(node) | errors_below(
                node, name.rpartition(".")[0].rpartition(".")[2], helpers)
            if not re.search(rf"\b{error if error[0].isupper() else 'Raises'}\b", said)}


def private_functions(node, of_class=""):
    """By their class, or "", and name."""
    found = {}
    for inner in node.body:
        if isinstance(inner, ast.ClassDef):
            found |= private_functions(inner, inner.name)
        elif isinstance(inner, ast.FunctionDef) and inner.name.startswith("_"):
            found[of_class, inner.name] = inner
    return found


def errors_below(function, of_class, helpers):
    """Names of what the private functions raise that this one calls, or these do."""
    names, met, nodes = set(), set(), [function]
    while nodes:
        for call in ast.walk(nodes.pop()):
            match call:
                case ast.Call(func=ast.Name(id=name)):
                    key = "", name
                case ast.Call(func=ast.Attribute(ast.Name("self" | "cls"), name)):
                    key = of_class, name
                case _:
                    continue
            if key in helpers and key not in met:
                met.add(key)
                names |= errors_of(helpers[key]) - OF_OURSELVES
                nodes.append(helpers[key])
    return names


def public_functions(node, prefix="", of_class=""):
    """Each with its name and what is said of it."""
    for inner in node.body:
        if isinstance(inner, ast.ClassDef) and not inner.name.startswith("_"):
            yield from public_functions(inner, f"{prefix}{inner.name}.",
                                        ast.get_docstring(inner) or "")
        elif isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
            constructs = inner.name in ("__init__", "__post_init__")
            if constructs or not inner.name.startswith("_"):
                yield (prefix + inner.name, inner,
                       (ast.get_docstring(inner) or "") + of_class * constructs)


def errors_of(function):
    """Names of what a function itself raises; a private one is caught where it is made."""
    names, nodes = set(), list(function.body)
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Raise) and node.exc is not None:
            made = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            names.add(ast.unparse(made).rpartition(".")[2])
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            nodes += ast.iter_child_nodes(node)
    return {name for name in names if not name.startswith("_")}


def offenders(rule, paths):
    """What is against the rule, by file."""
    return {named(path): sorted(said) for path in paths if (said := rule(path))}


def test_there_is_a_house():
    assert len(MODULES) > 30


def strays(listed):
    """Of tracked files with their sizes, those at the top that docs/architecture.md knows no place
    for, and those that are too large to be written by hand."""
    top = {*HOUSE, "tests", "docs", ".ci", "Makefile", "README.md", "CHANGELOG.md", "LICENSE",
           "pyproject.toml", "constraints.txt", ".gitignore", ".paths", ".jedi",
           "CONTRIBUTING.md", "CITATION.cff", "monitor"}
    return sorted(name for name, size in listed.items()
                  if name.split("/")[0] not in top or size > 1 << 20)


def test_no_file_is_tracked_that_has_no_place_here():
    if not (ROOT / ".git").exists():
        pytest.skip("this is no clone")
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True,
                           check=True).stdout.split("\0")[:-1]
    assert len(names) > 500
    assert strays({name: (ROOT / name).stat().st_size for name in names
                   if (ROOT / name).exists()}) == []


def test_a_stray_file_is_named():
    assert strays({"hdl/a.py": 10, "left/log": 0, "docs/all.csv": 2 << 20, "notes": 3}) == [
        "docs/all.csv", "left/log", "notes"]


@pytest.mark.each_commit
def test_imports_with_the_grain():
    assert offenders(against_the_grain, MODULES) == {}


def test_rooms_are_layered():
    """Wherever in a module, in a function too."""
    paths = sorted((ROOT / "sim").rglob("*.py"))
    assert offenders(up_the_stairs, paths) == {}
    assert {path.relative_to(ROOT).parts[1] for path in paths
            if path.parent != ROOT / "sim"} == set(ROOMS)


def test_families_need_what_is_common_and_what_they_compose():
    paths = [path for path in MODULES if named(path).startswith(("golden/", "hdl/", "tb/"))]
    assert offenders(of_other_families, paths) == {}


@pytest.mark.parametrize("files", COMPOSED)
def test_what_a_system_may_compose_is_composed(monkeypatch, files):
    """Else an exception would outlive its reason."""
    parts = COMPOSED[files]
    monkeypatch.delitem(COMPOSED, files)
    paths = [path for path in MODULES if re.fullmatch(files, "/".join(path.relative_to(
        ROOT).parts[1:])) and named(path).startswith(("golden/", "hdl/", "tb/"))]
    assert set().union(*offenders(of_other_families, paths).values()) == parts


def test_models_and_hardware_need_little_from_others():
    assert offenders(of_others, MODULES) == {}


def test_hardware_knows_no_model_no_bound_and_no_latency():
    """Else two descriptions that agree would be one: a number that both read is not measured."""
    assert offenders(models_and_bounds, sorted((ROOT / "hdl").rglob("*.py"))) == {}


@pytest.mark.each_commit
def test_docstrings_refer_to_what_is_there():
    assert offenders(references, WRITTEN) == {}


def test_entries_of_docstrings_are_sentences():
    assert offenders(run_on, WRITTEN) == {}


def test_models_and_bounds_say_what_they_raise():
    assert offenders(unsaid, sorted((ROOT / "golden").rglob("*.py"))) == {}


@pytest.mark.parametrize(("rule", "folder", "text", "says"), [
    (against_the_grain, "golden", "import cyclebound.hdl.arbiter", ["hdl"]),
    (against_the_grain, "tb", "def f():\n    from cyclebound.sim.run import job", ["sim"]),
    (against_the_grain, "sim", "from cyclebound.tb import bench", []),
    (against_the_grain, "golden", "from cyclebound.tools.dataflow.mapper import map_graph",
     ["tools"]),
    (against_the_grain, "hdl", "from cyclebound.tools.dataflow import mapper", ["tools"]),
    (against_the_grain, "tb", "from cyclebound.tools.dataflow.mapper import map_graph", []),
    (against_the_grain, "tools/dram", "from cyclebound.tb import bench", ["tb"]),
    (against_the_grain, "tools/maintenance", "from cyclebound.sim.run import job", []),
    (against_the_grain, "sim", "from cyclebound.tools.maintenance import reach",
     ["tools/maintenance"]),
    (up_the_stairs, "sim/judge", "from cyclebound.sim.run.job import Group", []),
    (up_the_stairs, "sim/run", "def f():\n    from cyclebound.sim.judge import verdict",
     ["judge"]),
    (up_the_stairs, "sim/attic", "import os", ["attic is no room"]),
    (of_other_families, "golden/sram", "from cyclebound.golden.noc.bounds import t_noc", ["noc"]),
    (of_other_families, "golden/sram", "def f():\n    from cyclebound.golden import dram",
     ["dram"]),
    (of_other_families, "hdl/sram", "from cyclebound.hdl.harness.lfsr import Lfsr", []),
    (of_other_families, "tb/noc", "from cyclebound.golden.dram.rules import Command", ["dram"]),
    (of_other_families, "tb/shmac", "from cyclebound.golden.noc.routes import Mesh", []),
    (of_other_families, "tb", "from cyclebound.golden.noc.routes import Mesh", ["noc"]),
    (of_others, "hdl", "import numpy, os", ["numpy"]),
    (of_others, "sim", "import numpy, os", []),
    (models_and_bounds, "hdl", "from cyclebound.golden.arbiter import RoundRobinModel",
     ["cyclebound.golden.arbiter.RoundRobinModel"]),
    (models_and_bounds, "hdl", "from cyclebound.golden.sram.bounds import eq1",
     ["cyclebound.golden.sram.bounds.eq1"]),
    (models_and_bounds, "hdl", "from cyclebound.golden.noc.shmac_bounds import service",
     ["cyclebound.golden.noc.shmac_bounds.service"]),
    (models_and_bounds, "hdl", "from cyclebound.golden.noc.shmac_budget import IN_CYCLES as five",
     ["cyclebound.golden.noc.shmac_budget.IN_CYCLES"]),
    (models_and_bounds, "hdl",
     "from cyclebound.golden.dataflow.operations import PIPELINE_STAGES, WIDTH",
     ["cyclebound.golden.dataflow.operations.PIPELINE_STAGES"]),
    (models_and_bounds, "hdl", "from cyclebound.golden.dataflow.special_timing import longest",
     ["cyclebound.golden.dataflow.special_timing.longest"]),
    (models_and_bounds, "hdl", "from cyclebound.golden.dram.timing import Part, part_named",
     ["cyclebound.golden.dram.timing.Part"]),
    (models_and_bounds, "hdl", "from cyclebound.golden.dataflow import operations",
     ["cyclebound.golden.dataflow.operations"]),
    (models_and_bounds, "hdl", "import cyclebound.golden.dataflow.operations as o",
     ["cyclebound.golden.dataflow.operations"]),
    (models_and_bounds, "hdl", "from cyclebound.golden.dataflow.operations import *",
     ["cyclebound.golden.dataflow.operations.*"]),
    (models_and_bounds, "hdl", "from cyclebound.golden.noc.shmac_packet import DATA_BITS", []),
    (references, "golden", '"""See `golden.bound.Bound`, ``text`` and `nowhere' + '_at_all`."""',
     ["nowhere" + "_at_all"]),
    (run_on, "tb", ("class A:\n    \"\"\"An A.\n\n    Attributes\n    ----------\n"
                    "    a, b : int\n        The first, or the\n        second,\n"
                    "    c : int\n        and its number.\n    d : int\n        Or,\n\n"
                    "    Notes\n    -----\n    None.\n    \"\"\""), ["A: a, b : int"]),
    (unsaid, "golden", ("def f(x):\n    '''Raises `ValueError` for 0.'''\n"
     "    if not x:\n        raise ValueError('0')\n    raise errors.TypeError"), ["f: TypeError"]),
    (unsaid, "golden", ("class A:\n    '''Raises `KeyError`.'''\n"
     "    def __post_init__(self):\n        raise KeyError\n"
     "    def f(self):\n        raise KeyError"), ["A.f: KeyError"]),
    (unsaid, "golden", ("class A:\n    def f(self):\n        '''Never.'''\n"
     "        raise self.fault('x')"), ["A.f: fault"]),
    (unsaid, "golden", ("class A:\n    def f(self):\n        '''Never.'''\n"
     "        self._g()\n    def _g(self):\n        return _h(self)\n"
     "def _h(x):\n    if x:\n        raise KeyError(x)\n    raise AssertionError\n"
     "def g():\n    return self._g()"), ["A.f: KeyError"]),
    (unsaid, "golden", ("def _f():\n    raise ValueError\ndef g():\n    def h():\n"
     "        raise ValueError\n    try:\n        raise _Found\n    except _Found:\n"
     "        return h"), []),
])
def test_a_rule_names_what_is_against_it(tmp_path, monkeypatch, rule, folder, text, says):
    path = tmp_path / folder / "made.py"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    for other in set(HOUSE) - {folder.partition("/")[0]}:
        (tmp_path / other).symlink_to(ROOT / other)
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    assert offenders(rule, [path]) == ({f"{folder}/made.py": says} if says else {})


def circle_of(paths):
    """Modules that import each other in a circle, wherever in them; empty if none do."""
    graph = {path: {module_of(name) for name in imports(path) if name.startswith("cyclebound.")}
             - {path} for path in paths}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as found:
        return [named(path) for path in found.args[1]]
    return []


def test_modules_import_each_other_in_one_direction():
    assert circle_of(MODULES) == []


def test_a_circle_is_named(tmp_path, monkeypatch):
    for name, other in (("one", "two"), ("two", "one"), ("three", "one")):
        (tmp_path / f"{name}.py").write_text(f"from cyclebound.{other} import thing\n")
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    assert set(circle_of(sorted(tmp_path.glob("*.py")))) == {"one.py", "two.py"}


def test_every_folder_of_modules_is_a_package():
    folders = {path.parent for path in MODULES}
    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []

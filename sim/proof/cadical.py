"""CaDiCaL as a program: ``python -m cyclebound.sim.proof.cadical PROBLEM PROOF``.

PyPI's ``python-sat`` has CaDiCaL as a library without a program. What this reads, prints and writes
is as of the program ``cadical --lrat --no-binary``: a problem in DIMACS' format of CNF; ``s
SATISFIABLE`` with an assignment in lines of ``v``, and status 10, or ``s UNSATISFIABLE``, a proof
of that in the text format LRAT, and status 20.
"""

import itertools
import sys
from pathlib import Path

__all__ = ["main", "numbered"]


def main() -> None:
    """Solve the problem."""
    import pysolvers  # of python-sat, whose classes cannot write this kind of proof

    problem, proof = map(Path, sys.argv[1:])
    clauses = [[*map(int, line.split())][:-1] for line in problem.read_text().splitlines()
               if line[:1] not in ("c", "p")]
    solver = pysolvers.cadical195_new()
    with proof.open("w+b") as file:
        for option, value in (("lrat", 1), ("binary", 0)):
            pysolvers.cadical195_set(solver, option, value)
        pysolvers.cadical195_tracepr(solver, file)
        for clause in clauses:
            pysolvers.cadical195_add_cl(solver, clause)
        found = pysolvers.cadical195_solve(solver, [], 0)
        model = (pysolvers.cadical195_model(solver) if found else None) or []
        pysolvers.cadical195_del(solver, file)  # and the proof is complete
    if found:
        print("s SATISFIABLE")
        print("v", *model, 0)
        sys.exit(10)
    proof.write_text(numbered(proof.read_text(), len(clauses)))
    print("s UNSATISFIABLE")
    sys.exit(20)


def numbered(proof: str, count: int) -> str:
    """A proof in which the clauses of the problem, so many, have the first numbers.

    As a library, CaDiCaL numbers clauses as they come, and those that it makes of them meanwhile.
    """
    lines = [line.split() for line in proof.splitlines()]
    made = [words[0] for words in lines if words[1] != "d"]
    those = {*made}
    given = (number for number in map(str, itertools.count(1)) if number not in those)
    numbers = dict(zip([*itertools.islice(given, count), *made],
                       map(str, itertools.count(1)), strict=False)) | {"0": "0", "d": "d"}
    last, text = str(count), []
    for words in lines:
        if words[1] == "d":  # its own number is that of the line before
            text.append(" ".join([last, "d", *(numbers[word] for word in words[2:])]))
            continue
        last, end = numbers[words[0]], words.index("0")
        text.append(" ".join([last, *words[1:end], "0",
                              *(numbers[word] for word in words[end + 1:])]))
    return "".join(f"{line}\n" for line in text)


if __name__ == "__main__":
    main()

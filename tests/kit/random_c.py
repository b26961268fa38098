"""Random kernels in C, of all that the language of kernels has and that C defines.

What C leaves undefined is not drawn, but for sums that wrap around (`native_c` compiles with
-fwrapv): quotients by 0, INT_MIN / -1, floats beyond an integer's range, variables without a value.
"""

import random

# a kernel's head: what its variables are at first
HEAD = ("__kernel void {name}(__global const int *a, __global const int *b, "
        "__global const float *x, __global const float *y, __global int *c, __global uint *w, "
        "__global float *z, int n) {{\nuint t = get_global_id(0);\n"
        "int i = a[t], j = b[t]; uint p = b[t], q = a[t]; float r = x[t], s = y[t];\n")
NAMES = {"int": ["i", "j"], "uint": ["p", "q"], "float": ["r", "s"]}
CONSTANTS = {"int": ("0", "1", "2", "3", "-1", "-7", "31", "255", "65537", "2147483647", "n"),
             "uint": ("0u", "1u", "5u", "255u", "0x80000000", "4294967295u", "t"),
             "float": ("0.0f", "1.0f", "-0.5f", "0.1f", "3.0f", "1e30f", "16777217.0f", "-0.0f")}
OUT = {"int": "c[t]", "uint": "w[t]", "float": "z[t]"}


class Writer:
    """Writes a kernel's statements."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.counters: list[str] = []  # of the loops around, which nothing else changes
        self.inside = 0                # loops
        self.made = 0                  # names
        self.left = 9                  # statements
        self.repeats = 1

    def say(self, text: str) -> None:
        self.lines.append(text)

    # -- expressions -------------------------------------------------------------------------------

    def leaf(self, kind: str) -> str:
        names = NAMES[kind] + (self.counters if kind == "int" else [])
        return self.rng.choice(
            [self.rng.choice(names)] * 3 + [self.rng.choice(CONSTANTS[kind]), OUT[kind]]
            + {"int": ["a[t]", f"a[{self.rng.choice('ijpq')} & 15]"], "float": ["x[t]"],
               "uint": []}[kind])

    def small(self, depth: int) -> str:
        """A float that an integer can be made of."""
        text = self.value("float", depth)
        return f"(fabs({text}) < 1e9f ? {text} : 1.0f)"

    def value(self, kind: str, depth: int = 2) -> str:
        if depth == 0 or self.rng.random() < 0.2:
            return self.leaf(kind)
        pick = self.rng.randrange(7)
        one, other = self.value(kind, depth - 1), self.value(kind, depth - 1)
        if pick == 0:
            return f"({self.truth(depth - 1)} ? {one} : {other})"
        if pick == 1:
            return f"{self.rng.choice(('min', 'max'))}({one}, {other})"
        if kind == "float":
            return self.single(pick, one, other, depth)
        if pick == 2:
            divisor = self.value(kind, 0)
            # not by 1: gcc 12 makes a / -b of -(a / b), which traps for INT_MIN, under -fwrapv, too
            return f"({one} {self.rng.choice('/%')} (({divisor} & 1023) + 2))"
        if pick == 3:
            return f"({one} {self.rng.choice(('<<', '>>'))} ({other} & 31))"
        if pick == 4 and kind == "int":
            return self.rng.choice((f"(int){self.small(0)}", f"({self.truth(depth - 1)})",
                                    f"(~{one})", f"(- {one})",
                                    f"(int){self.value('uint', depth - 1)}"))
        if pick == 4:
            return f"(uint){self.value('int', depth - 1)}"
        return f"({one} {self.rng.choice('+-*&|^')} {other})"

    def single(self, pick: int, one: str, other: str, depth: int) -> str:
        if pick == 2:
            return f"({one} / {other})"
        if pick == 3:
            return self.rng.choice((f"sqrt(fabs({one}))", f"fma({one}, {other}, r)", f"rint({one})",
                                    f"round({one})", f"fmin({one}, {other})", f"(- {one})"))
        if pick == 4:
            whole = self.value(self.rng.choice(("int", "uint")), depth - 1)
            return f"({one} {self.rng.choice('+-*/')} {whole})"
        return f"({one} {self.rng.choice('+-*')} {other})"

    def truth(self, depth: int = 1) -> str:
        kind = self.rng.choice(("int", "int", "uint", "float"))
        order = self.rng.choice(("<", "<=", ">", ">=", "==", "!="))
        text = f"{self.value(kind, depth)} {order} {self.value(kind, 0)}"
        if self.rng.random() < 0.25:
            other = f"{self.leaf('int')} {order} {self.leaf('int')}"
            return f"({text}) {self.rng.choice(('&&', '||'))} ({other})"
        return text

    # -- statements --------------------------------------------------------------------------------

    def assign(self) -> None:
        kind = self.rng.choice(("int", "int", "uint", "float"))
        target = self.rng.choice([*NAMES[kind], OUT[kind]])
        pick = self.rng.random()
        if pick < 0.2 and kind != "float":
            self.say(f"{target}{self.rng.choice(('++', '--'))};")
        elif pick < 0.5:
            operator = self.rng.choice("+-*" if kind == "float" else "+-*&|^")
            self.say(f"{target} {operator}= {self.value(kind, 1)};")
        elif pick < 0.6:  # what is known when the kernel is mapped
            self.say(f"{target} = {self.rng.choice(CONSTANTS[kind])};")
        else:
            self.say(f"{target} = {self.value(kind)};")

    def branch(self) -> None:
        self.say(f"if ({self.truth()}) {{")
        self.block()
        if self.rng.random() < 0.5:
            self.say("} else {")
            self.block()
        self.say("}")

    def loop(self) -> None:
        """With a bound that is known, or with one that is stated and cannot be exceeded."""
        count = self.rng.choice((1, 2, 3))
        self.made += 1
        name = f"k{self.made}"
        form = self.rng.randrange(5)
        known, limit = form == 0, f"({self.value('int', 1)} & {2 ** count - 1})"
        if not known:
            self.say(f"int l{name} = {limit};")
            limit = f"l{name}"
        self.say(f"int {name} = 0;")
        if form == 1:  # a range that data decide
            count = 2 ** count - 1
        most = "" if known else f"#pragma loopbound max {count + (form in (3, 4))}"
        if most:
            self.say(most)
        self.repeats *= count
        begin = {0: f"for ({name} = 0; {name} < {count}; {name}++) {{",
                 1: f"for ({name} = 0; {name} < {limit}; {name}++) {{",
                 2: f"while ({limit} > 0) {{ {limit} >>= 1; {name}++;",
                 3: f"do {{ {limit} /= 2; {name} += 3;",
                 4: f"for (;; {limit} >>= 1) {{ if (!{limit}) break; {name}--;"}[form]
        self.say(begin)
        self.counters.append(name)
        self.inside += 1
        self.block()
        if self.rng.random() < 0.5:
            self.say(f"if ({self.truth()}) {self.rng.choice(('break', 'continue'))};")
            self.block()
        self.inside -= 1
        self.say("}" + f" while ({limit} > 0);" * (form == 3))
        self.repeats //= max(count, 1)

    def block(self) -> None:
        for _ in range(self.rng.choice((1, 1, 2))):
            self.left -= 1
            pick, more = self.rng.random(), self.left > 0
            if pick < 0.15 and more:
                self.branch()
            elif pick < 0.35 and more and self.inside < 3 and self.repeats < 8:
                self.say("{")
                outer = list(self.counters)
                self.loop()
                self.counters = outer
                self.say("}")
            elif pick < 0.39 and self.inside:
                self.say(self.rng.choice(("break;", "continue;", "return;")))
                return
            else:
                self.assign()


def random_c(name: str, seed: int) -> str:
    """The text of a seed's kernel."""
    writer = Writer(random.Random(f"C {seed}"))
    for _ in range(2):
        writer.block()
    writer.loop()
    writer.block()
    ends = " ".join(f"{OUT[kind]} {'+' if kind == 'float' else '^'}= {names[0]} + {names[1]};"
                    for kind, names in NAMES.items())
    return HEAD.format(name=name) + "\n".join(writer.lines) + f"\n{ends}\n}}\n"

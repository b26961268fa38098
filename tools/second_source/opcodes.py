"""The encoding of instructions as it was published (docs/simd-isa.md), by which programs that were
assembled once still run: number, name and sub-operations in their order.

The page, the assembler, the models and the decoder are made from one table, so that two rows that
change places change all of them alike.
"""

from cyclebound.golden.simd.isa import ABSENT, FIELDS, KIND_FIELDS, OPCODES, TABLE

__all__ = ["compare"]

_PUBLISHED = """
0 nop
1 j
2 sicj ez nz g ge l le
3 bra
4 call
5 cpush if brk jc
6 cmask
7 brk
8 ret
9 exit
10 cpop
11 test ez nz g ge l le
12 itest ez nz g ge l le
13 pbool and or nand nor
14 add - neg
15 mul - neg
16 mad - neg
17 min
18 max
19 abs
20 rcp
21 rsqrt
22 sin
23 cos
24 mov
25 movvsp
26 smov
27 smovssp
28 cvt i2f f2i
29 scvt i2f f2i
30 bufquery dim_x dim_y
31 iadd
32 isub
33 imul
34 imin
35 imax
36 imad
37 and
38 or
39 xor
40 not
41 shl
42 shr
43 siadd
44 sisub
45 simul
46 simin
47 simax
48 sand
49 sor
50 sshl
51 sshr
52 simad
53 sineg
54 snot
55 sibfind
56 sidiv
57 simod
58 ldglin - vec2 vec4
59 stglin - vec2 vec4
60 ldgbidx
61 stgbidx
62 ldgcidx
63 stgcidx
64 ldgidxit
65 stgidxit
66 sldg
67 ldg2sptile
68 stg2sptile
69 ldsplin
70 stsplin
71 ldspbidx
72 stspbidx
73 sldsp
74 printsgpr
75 printvgpr
76 printpr
77 printcmask
78 printtrace
"""
# highest and lowest bit of each field; those of opcode and sub-operation are in no table
_BITS = {"D": (15, 10), "Dk": (16, 16), "A": (22, 17), "C": (28, 23), "Bk": (30, 29),
         "Xk": (29, 29), "Yk": (30, 30), "An": (31, 31), "B": (63, 32), "X": (47, 32),
         "Y": (63, 48)}


def compare() -> tuple[int, list[str]]:
    """Entries compared, and how any differ."""
    wrong, published = [], _PUBLISHED.strip().splitlines()
    for line in published:
        number, name, *subops = line.split()
        have = OPCODES.get(name)
        if have != int(number):
            wrong.append(f"{name} is {have}, and not {number}")
        elif [subop or "-" for subop in TABLE[have].subops] != (subops or ["-"]):
            wrong.append(f"sub-operations of {name} are {', '.join(TABLE[have].subops)}, and not "
                         f"{', '.join(subops) or 'none'}")
    if len(OPCODES) != len(published):
        wrong.append(f"{len(OPCODES)} instructions, and not {len(published)}")
    fields = {**FIELDS, **{f"{name}k": field for name, field in KIND_FIELDS.items() if field},
              "An": (ABSENT, 1)}
    bits = {name: (low + width - 1, low) for name, (low, width) in fields.items()}
    wrong += [f"field {name} is {bits.get(name)}, and not {_BITS.get(name)}"
              for name in sorted({*bits, *_BITS}) if bits.get(name) != _BITS.get(name)]
    return len(published) + len(_BITS), wrong

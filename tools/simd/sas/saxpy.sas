// y = a * x + y. A work-item for each element.
.data
0 0x0       65536 1    // x
1 0x40000   65536 1    // y, and the result
2 0x80000   1 1        // a
.text
    sldg    s0, 2
    ldglin  v0, 0
    ldglin  v1, 1
    mad     v1, v0, s0, v1
    stglin  v1, 1
    exit

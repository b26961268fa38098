// c = a + b, element by element. A work-item for each; the grid is 1-D.
.data
0 0x0       65536 1    // a
1 0x40000   65536 1    // b
2 0x80000   65536 1    // c
.text
    ldglin  v0, 0
    ldglin  v1, 1
    add     v2, v0, v1
    stglin  v2, 2
    exit

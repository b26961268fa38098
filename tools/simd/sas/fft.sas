// A radix-2 pass of Stockham's FFT. The grid is n wide, where n points of each row are transformed
// already, and has a line for each pair of rows: butterflies of the first and the second half.
.data
0 0x0       1024 256   // first half: rows of n complex points
1 0x100000  1024 256   // second half
2 0x200000  2048 256   // result: rows of 2 n points
3 0x400000  1 1        // -pi / n
.text
    sldg    s0, 3
    ldglin.vec2 v0, 0
    ldglin.vec2 v2, 1
    cvt.i2f v4, vc.tid_x
    mul     v4, v4, s0
    cos     v5, v4
    sin     v6, v4
    mul     v7, v2, v5
    mad.neg v7, v3, v6, v7
    mul     v8, v2, v6
    mad     v8, v3, v5, v8
    add     v9, v0, v7
    add     v10, v1, v8
    add.neg v11, v0, v7
    add.neg v12, v1, v8
    smov    s1, sc.dim_x
    stglin.vec2 v9, 2
    stglin.vec2 v11, 2, s1
    exit

// SRAD, first half of a step: differences to the neighbours, and the diffusion coefficient.
// A work-item for each pixel; neighbours beyond the border are the pixel itself.
.data
0 0x0       502 458    // image
1 0x100000  502 458    // difference to the north
2 0x200000  502 458    // south
3 0x300000  502 458    // west
4 0x400000  502 458    // east
5 0x500000  502 458    // coefficient
6 0x600000  2 1        // q, 1 / (q * (1 + q))
.text
    sldg    s0, 6, 2
    mov     v0, vc.tid_x
    mov     v1, vc.tid_y
    smov    s4, sc.dim_x
    smov    s5, sc.dim_y
    sisub   s6, s4, 1
    sisub   s7, s5, 1
    ldglin  v2, 0
    isub    v3, v1, 1
    imax    v3, v3, 0
    imad    v3, v3, s4, v0
    movvsp  vc.mem_idx, v3
    ldgidxit v4, 0
    iadd    v3, v1, 1
    imin    v3, v3, s7
    imad    v3, v3, s4, v0
    movvsp  vc.mem_idx, v3
    ldgidxit v5, 0
    imul    v8, v1, s4
    isub    v3, v0, 1
    imax    v3, v3, 0
    iadd    v3, v3, v8
    movvsp  vc.mem_idx, v3
    ldgidxit v6, 0
    iadd    v3, v0, 1
    imin    v3, v3, s6
    iadd    v3, v3, v8
    movvsp  vc.mem_idx, v3
    ldgidxit v7, 0
    add.neg v4, v4, v2
    add.neg v5, v5, v2
    add.neg v6, v6, v2
    add.neg v7, v7, v2
    mul     v8, v4, v4
    mad     v8, v5, v5, v8
    mad     v8, v6, v6, v8
    mad     v8, v7, v7, v8
    rcp     v9, v2
    mul     v10, v9, v9
    mul     v8, v8, v10         // squares over the pixel's
    add     v11, v4, v5
    add     v11, v11, v6
    add     v11, v11, v7
    mul     v11, v11, v9        // Laplacian over the pixel
    mul     v12, v11, v11
    mul     v12, v12, 0.0625
    mul     v8, v8, 0.5
    add.neg v8, v8, v12
    mov     v13, 1.0
    mad     v14, v11, 0.25, v13
    mul     v14, v14, v14
    rcp     v14, v14
    mul     v8, v8, v14
    add.neg v8, v8, s0
    mul     v8, v8, s1
    add     v8, v8, 1.0
    rcp     v8, v8
    max     v8, v8, 0.0
    min     v8, v8, 1.0
    stglin  v4, 1
    stglin  v5, 2
    stglin  v6, 3
    stglin  v7, 4
    stglin  v8, 5
    exit

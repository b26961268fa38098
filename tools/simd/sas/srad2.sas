// SRAD, second half of a step: the image after diffusion. A work-item for each pixel.
.data
0 0x0       502 458    // image, and the result
1 0x100000  502 458    // difference to the north
2 0x200000  502 458    // south
3 0x300000  502 458    // west
4 0x400000  502 458    // east
5 0x500000  502 458    // coefficient
6 0x600000  1 1        // lambda / 4
.text
    sldg    s0, 6
    mov     v0, vc.tid_x
    mov     v1, vc.tid_y
    smov    s4, sc.dim_x
    smov    s5, sc.dim_y
    sisub   s6, s4, 1
    sisub   s7, s5, 1
    ldglin  v2, 5
    ldglin  v10, 1
    ldglin  v11, 2
    ldglin  v12, 3
    ldglin  v13, 4
    iadd    v3, v1, 1
    imin    v3, v3, s7
    imad    v3, v3, s4, v0
    movvsp  vc.mem_idx, v3
    ldgidxit v4, 5
    imul    v8, v1, s4
    iadd    v3, v0, 1
    imin    v3, v3, s6
    iadd    v3, v3, v8
    movvsp  vc.mem_idx, v3
    ldgidxit v5, 5
    ldglin  v6, 0
    mul     v7, v2, v10
    mad     v7, v4, v11, v7
    mad     v7, v2, v12, v7
    mad     v7, v5, v13, v7
    mad     v6, v7, s0, v6
    stglin  v6, 0
    exit

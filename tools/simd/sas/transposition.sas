// A matrix, transposed through the scratchpad. A work-item for each element; work-groups must be as wide as
// high, 32 at most, and fill the grid.
.data
0 0x0       512 512    // matrix
1 0x100000  512 512    // result
.sp_data
0 0 32 32
.text
    smov    s0, sc.wg_off_x
    smov    s1, sc.wg_off_y
    sisub   s2, s1, s0
    sisub   s3, s0, s1
    ldglin  v0, 0
    stsplin v0, 0
    mov     v1, vc.lid_x
    mov     v2, vc.lid_y
    imad    v1, v1, 32, v2
    movvsp  vc.mem_idx, v1
    ldspbidx 0
    stglin  vc.mem_data, 1, s2, s3
    exit

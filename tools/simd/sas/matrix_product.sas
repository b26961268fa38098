// C = A B by tiles of 32 x 32 in the scratchpad. A work-item for each element of C; work-groups must be
// at most 32 wide and high, and A's width a multiple of 32.
.data
0 0x0       256 256    // A
1 0x40000   256 256    // B
2 0x80000   256 256    // C
.sp_data
0 0x0    32 32
1 0x1000 32 32
.text
    smov    s0, 0
    bufquery.dim_x s1, 0
    smov    s2, sc.wg_off_x
    smov    s3, sc.wg_off_y
    mov     v0, vc.zero
    mov     v1, vc.lid_y
    shl     v1, v1, 5
    mov     v2, vc.lid_x
tile:
    ldg2sptile 0, 0, s0, s3
    ldg2sptile 1, 1, s2, s0
    smov    s4, 32
    iadd    v3, v1, 0
    iadd    v4, v2, 0
step:
    movvsp  vc.mem_idx, v3
    ldspbidx 0
    mov     v5, vc.mem_data
    movvsp  vc.mem_idx, v4
    ldspbidx 1
    mov     v6, vc.mem_data
    mad     v0, v5, v6, v0
    iadd    v3, v3, 1
    iadd    v4, v4, 32
    sisub   s4, s4, 1
    #bound branchcycle 31 1
    sicj.g  step, s4
    siadd   s0, s0, 32
    sisub   s5, s1, s0
    #bound branchcycle 7 1
    sicj.g  tile, s5
    stglin  v0, 2
    exit

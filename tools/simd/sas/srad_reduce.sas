// SRAD: sums of an image and of its squares, for each work-group. A work-item for each pixel, in a
// grid of one line; pixels must fill their work-groups, with zeros.
.data
0 0x0       230400 1   // image, 502 x 458 and zeros
1 0x100000  225 1      // sums
2 0x200000  225 1      // sums of squares
.sp_data
0 0x0    1024 1
1 0x1000 1024 1
.text
    ldglin  v0, 0
    mul     v1, v0, v0
    mov     v2, vc.zero
    mov     v3, vc.zero
    smov    s0, sc.wg_width
    sshr    s0, s0, 1
fold:
    stsplin v0, 0
    stsplin v1, 1
    ldsplin v2, 0, s0
    ldsplin v3, 1, s0
    add     v0, v0, v2
    add     v1, v1, v3
    sshr    s0, s0, 1
    #bound branchcycle 9 1
    sicj.g  fold, s0
    smov    s1, sc.wg_off_x
    smov    s2, sc.wg_width
    sidiv   s1, s1, s2
    mov     v4, vc.zero
    or      v4, v4, s1
    movvsp  vc.mem_idx, v4
    mov     v5, vc.lid_x
    itest.nz p0, v5
    exit    p0
    stgidxit v0, 1
    stgidxit v1, 2
    exit

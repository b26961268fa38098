// How often each value from 0 to a work-group's items - 1 occurs among the work-group's elements: a
// histogram for each work-group. A grid of one line that its work-groups fill.
.data
0 0x0       16384 1    // values
1 0x40000   16384 1    // histograms
.sp_data
0 0 1024 1
.text
    ldglin  v1, 0
    stsplin v1, 0
    mov     v0, vc.zero
    mov     v2, vc.lid_x
    mov     v5, vc.zero
    smov    s1, sc.wg_width
    smov    s2, 0
    smov    s3, sc.wg_width
next:
    sldsp   s0, 0, s2
    isub    v3, v2, s0
    isub    v4, v5, v3
    or      v3, v3, v4
    shr     v3, v3, 31          // -1 where the value is another one
    iadd    v0, v0, v3
    siadd   s2, s2, 1
    sisub   s3, s3, 1
    #bound branchcycle 1023 1
    sicj.g  next, s3
    iadd    v0, v0, s1
    stglin  v0, 1
    exit

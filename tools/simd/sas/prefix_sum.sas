// Sums of integers up to each element, within each work-group. A grid of one line that its
// work-groups fill.
.data
0 0x0       65536 1    // integers
1 0x40000   65536 1    // sums
.sp_data
0 0 1024 1
.text
    ldglin  v0, 0
    smov    s0, 1
    smov    s1, sc.wg_width
next:
    stsplin v0, 0
    mov     v1, vc.zero
    sineg   s2, s0
    ldsplin v1, 0, s2
    iadd    v0, v0, v1
    sshl    s0, s0, 1
    sisub   s3, s1, s0
    #bound branchcycle 9 1
    sicj.g  next, s3
    stglin  v0, 1
    exit

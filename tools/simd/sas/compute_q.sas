// MRI-Q: Q = sum over samples of phi * (cos, sin)(2 pi (kx x + ky y + kz z)).
// A work-item for each voxel; all samples are in the scratchpad, 2,048 at most.
.data
0 0x0       262144 1   // x
1 0x100000  262144 1   // y
2 0x200000  262144 1   // z
3 0x300000  4 2048     // kx, ky, kz, phi of each sample
4 0x400000  262144 1   // real parts of Q
5 0x500000  262144 1   // imaginary parts
.sp_data
0 0 4 2048
.text
    ldg2sptile 0, 3
    ldglin  v0, 0
    ldglin  v1, 1
    ldglin  v2, 2
    mov     v3, vc.zero
    mov     v4, vc.zero
    bufquery.dim_y s8, 3
    smov    s9, 0
    smovssp sc.sd_words, 4
sample:
    sldsp   s0, 0, 0, s9
    mul     v5, v0, s0
    mad     v5, v1, s1, v5
    mad     v5, v2, s2, v5
    mul     v5, v5, M_2PI_F
    cos     v6, v5
    sin     v7, v5
    mad     v3, v6, s3, v3
    mad     v4, v7, s3, v4
    siadd   s9, s9, 1
    sisub   s8, s8, 1
    #bound branchcycle 2047 1
    sicj.g  sample, s8
    stglin  v3, 4
    stglin  v4, 5
    exit

// A sparse matrix times a vector. Row i has its n-th element in column i of line n (ELLPACK), and
// stops at its own length. A work-item for each row.
.data
0 0x0       16384 32   // values
1 0x200000  16384 32   // columns
2 0x400000  16384 1    // elements of each row
3 0x410000  16384 1    // vector
4 0x420000  16384 1    // result
.text
    bufquery.dim_y s0, 0
    smov    s1, 0
    ldglin  v0, 2
    mov     v1, vc.zero
    cpush.brk done
next:
    itest.le p0, v0
    brk     p0
    ldglin  v2, 0, 0, s1
    ldglin  v3, 1, 0, s1
    movvsp  vc.mem_idx, v3
    ldgidxit v4, 3
    mad     v1, v2, v4, v1
    isub    v0, v0, 1
    siadd   s1, s1, 1
    sisub   s0, s0, 1
    #bound branchcycle 31 1
    sicj.g  next, s0
    cpop
done:
    stglin  v1, 4
    exit

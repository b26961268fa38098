// Seven-point stencil in three dimensions: c1 * (sum of the six neighbours) - c0 * centre; the border
// keeps its values. Planes lie one below the other. A work-item for each point; work-groups must be
// at most 32 wide and high, and not reach over the end of a plane.
.data
0 0x0       128 4096   // 32 planes of 128 x 128
1 0x200000  128 4096   // result
2 0x400000  3 1        // c0, c1, and lines of a plane as an integer
.sp_data
0 0 34 34
.text
    sldg    s0, 2, 3
    smov    s4, sc.wg_off_x
    smov    s5, sc.wg_off_y
    sisub   s6, s4, 1
    sisub   s7, s5, 1
    sineg   s8, s2
    smov    s9, sc.dim_x
    sisub   s9, s9, 1
    sidiv   s10, s5, s2         // plane
    simul   s11, s10, s2
    smov    s13, sc.dim_y
    sidiv   s13, s13, s2
    sisub   s13, s13, 1
    sisub   s13, s13, s10       // planes after it
    sisub   s12, s2, 1
    ldg2sptile 0, 0, s6, s7
    ldsplin v2, 0, 1, 1
    sicj.ez border, s10
    sicj.ez border, s13
    ldglin  v0, 0, 0, s8
    ldglin  v1, 0, 0, s2
    ldsplin v3, 0, 0, 1
    ldsplin v4, 0, 2, 1
    ldsplin v5, 0, 1, 0
    ldsplin v6, 0, 1, 2
    add     v0, v0, v1
    add     v0, v0, v3
    add     v0, v0, v4
    add     v0, v0, v5
    add     v0, v0, v6
    mul     v7, v2, s0
    mul     v0, v0, s1
    add.neg v0, v0, v7
    mov     v8, vc.tid_x
    itest.ez p0, v8
    isub    v8, v8, s9
    itest.ez p1, v8
    pbool.or p0, p0, p1
    mov     v8, vc.tid_y
    isub    v8, v8, s11
    itest.ez p1, v8
    pbool.or p0, p0, p1
    isub    v8, v8, s12
    itest.ez p1, v8
    pbool.nor p0, p0, p1        // inside
    cpush.if store
    cmask   p0
    iadd    v0, v2, 0
    cpop
border:
    iadd    v0, v2, 0
store:
    stglin  v0, 1
    exit

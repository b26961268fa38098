// KinectFusion: each point against the reference that it falls upon. The result is 1, or says which
// test failed: -1 no normal, -2 outside, -3 no reference, -4 too far, -5 another direction.
.data
0 0x0       2560 480   // points
1 0x800000  2560 480   // normals; 2 as x: none
2 0x1000000 2560 480   // reference points
3 0x1800000 2560 480   // reference normals
4 0x2000000 26 1       // two matrices of 3 x 4: to the reference, to pixels; distance squared; cosine
5 0x2800000 2560 480   // result, error, J0, J1
6 0x3000000 2560 480   // J2 to J5
.text
    sldg    s0, 4, 26
    smov    s26, sc.dim_x
    smov    s30, sc.dim_x
    smov    s27, sc.dim_y
    sisub   s26, s26, 1
    sisub   s27, s27, 1
    scvt.i2f s28, s26
    scvt.i2f s29, s27
    ldglin.vec4 v0, 0
    ldglin.vec4 v4, 1
    mov     v9, vc.zero
    mov     v40, -1.0
    mov     v41, vc.zero
    mov     v42, vc.zero
    mov     v43, vc.zero
    mov     v44, vc.zero
    mov     v45, vc.zero
    mov     v46, vc.zero
    mov     v47, vc.zero
    cpush.if store
    add.neg v8, v4, 2.0
    test.ez p0, v8
    cmask   p0
    mov     v40, -2.0
    or      v10, v9, s3
    mad     v10, v0, s0, v10
    mad     v10, v1, s1, v10
    mad     v10, v2, s2, v10
    or      v11, v9, s7
    mad     v11, v0, s4, v11
    mad     v11, v1, s5, v11
    mad     v11, v2, s6, v11
    or      v12, v9, s11
    mad     v12, v0, s8, v12
    mad     v12, v1, s9, v12
    mad     v12, v2, s10, v12
    or      v13, v9, s15
    mad     v13, v10, s12, v13
    mad     v13, v11, s13, v13
    mad     v13, v12, s14, v13
    or      v14, v9, s19
    mad     v14, v10, s16, v14
    mad     v14, v11, s17, v14
    mad     v14, v12, s18, v14
    or      v15, v9, s23
    mad     v15, v10, s20, v15
    mad     v15, v11, s21, v15
    mad     v15, v12, s22, v15
    rcp     v16, v15
    mul     v17, v13, v16
    mul     v18, v14, v16
    add     v17, v17, 0.5
    add     v18, v18, 0.5
    test.l  p0, v17
    cmask   p0
    test.l  p0, v18
    cmask   p0
    add.neg v19, v17, s28
    test.g  p0, v19
    cmask   p0
    add.neg v19, v18, s29
    test.g  p0, v19
    cmask   p0
    cvt.f2i v20, v17
    cvt.f2i v21, v18
    imad    v21, v21, s30, v20
    shl     v21, v21, 2
    mov     v40, -3.0
    movvsp  vc.mem_idx, v21
    ldgidxit v22, 3
    iadd    v21, v21, 1
    movvsp  vc.mem_idx, v21
    ldgidxit v23, 3
    iadd    v21, v21, 1
    movvsp  vc.mem_idx, v21
    ldgidxit v24, 3
    add.neg v8, v22, 2.0
    test.ez p0, v8
    cmask   p0
    mov     v40, -4.0
    movvsp  vc.mem_idx, v21
    ldgidxit v27, 2
    isub    v21, v21, 1
    movvsp  vc.mem_idx, v21
    ldgidxit v26, 2
    isub    v21, v21, 1
    movvsp  vc.mem_idx, v21
    ldgidxit v25, 2
    add.neg v28, v25, v10
    add.neg v29, v26, v11
    add.neg v30, v27, v12
    mul     v31, v28, v28
    mad     v31, v29, v29, v31
    mad     v31, v30, v30, v31
    add.neg v31, v31, s24
    test.g  p0, v31
    cmask   p0
    mov     v40, -5.0
    mul     v32, v4, s0
    mad     v32, v5, s1, v32
    mad     v32, v6, s2, v32
    mul     v33, v4, s4
    mad     v33, v5, s5, v33
    mad     v33, v6, s6, v33
    mul     v34, v4, s8
    mad     v34, v5, s9, v34
    mad     v34, v6, s10, v34
    mul     v35, v32, v22
    mad     v35, v33, v23, v35
    mad     v35, v34, v24, v35
    add.neg v35, v35, s25
    test.l  p0, v35
    cmask   p0
    mov     v40, 1.0
    mul     v41, v22, v28
    mad     v41, v23, v29, v41
    mad     v41, v24, v30, v41
    or      v42, v22, v9
    or      v43, v23, v9
    or      v44, v24, v9
    mul     v36, v11, v24
    mul     v37, v12, v23
    add.neg v45, v36, v37
    mul     v36, v12, v22
    mul     v37, v10, v24
    add.neg v46, v36, v37
    mul     v36, v10, v23
    mul     v37, v11, v22
    add.neg v47, v36, v37
    cpop
store:
    stglin.vec4 v40, 5
    stglin.vec4 v44, 6
    exit

// KinectFusion: normals of the surface through points; (2, 0, 0) where a neighbour has depth 0.
// At the border, the point itself stands for the neighbour that it has not.
.data
0 0x0       2560 480   // x, y, z, 0 of each point
1 0x800000  2560 480   // normal, 0
.text
    ldglin.vec4 v0, 0
    iadd    v4, v0, 0
    iadd    v5, v1, 0
    iadd    v6, v2, 0
    iadd    v8, v0, 0
    iadd    v9, v1, 0
    iadd    v10, v2, 0
    iadd    v12, v0, 0
    iadd    v13, v1, 0
    iadd    v14, v2, 0
    iadd    v16, v0, 0
    iadd    v17, v1, 0
    iadd    v18, v2, 0
    ldglin.vec4 v4, 0, 1, 0
    ldglin.vec4 v8, 0, -1, 0
    ldglin.vec4 v12, 0, 0, 1
    ldglin.vec4 v16, 0, 0, -1
    mov     v32, 2.0
    mov     v33, vc.zero
    mov     v34, vc.zero
    mov     v35, vc.zero
    test.ez p0, v6
    test.ez p1, v10
    pbool.or p0, p0, p1
    test.ez p1, v14
    pbool.or p0, p0, p1
    test.ez p1, v18
    pbool.or p0, p0, p1
    cpush.if store
    cmask   p0
    add.neg v20, v4, v8
    add.neg v21, v5, v9
    add.neg v22, v6, v10
    add.neg v24, v12, v16
    add.neg v25, v13, v17
    add.neg v26, v14, v18
    mul     v31, v25, v22
    mul     v30, v26, v21
    add.neg v36, v31, v30
    mul     v31, v26, v20
    mul     v30, v24, v22
    add.neg v37, v31, v30
    mul     v31, v24, v21
    mul     v30, v25, v20
    add.neg v38, v31, v30
    mul     v30, v36, v36
    mad     v30, v37, v37, v30
    mad     v30, v38, v38, v30
    rsqrt   v30, v30
    mul     v32, v36, v30
    mul     v33, v37, v30
    mul     v34, v38, v30
    cpop
store:
    stglin.vec4 v32, 1
    exit

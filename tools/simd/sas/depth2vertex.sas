// KinectFusion: a depth image to points in space. A work-item for each pixel.
.data
0 0x0       640 480    // depth; 0 or less: not known
1 0x200000  2560 480   // x, y, z, 0 of each point
2 0x800000  4 1        // 1 / fx, -cx / fx, 1 / fy, -cy / fy
.text
    sldg    s0, 2, 4
    ldglin  v0, 0
    cvt.i2f v1, vc.tid_x
    cvt.i2f v2, vc.tid_y
    mov     v3, vc.zero
    or      v4, v3, s1
    or      v5, v3, s3
    mad     v1, v1, s0, v4
    mad     v2, v2, s2, v5
    max     v10, v0, 0.0
    mul     v8, v1, v10
    mul     v9, v2, v10
    mov     v11, vc.zero
    stglin.vec4 v8, 1
    exit

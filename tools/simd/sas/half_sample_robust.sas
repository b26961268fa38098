// KinectFusion: an image of half the size; of each 2 x 2 square those pixels are averaged that are
// close to the first. A line of the input's buffer is two lines of the image.
.data
0 0x0       1280 240   // depth, 640 x 480
1 0x200000  320 240    // result
2 0x400000  1 1        // how close
.text
    sldg    s0, 2
    smov    s1, sc.dim_x
    ldglin.vec2 v0, 0
    ldglin.vec2 v2, 0, s1
    mov     v10, 1.0        // pixels
    iadd    v11, v0, 0      // their sum
    add.neg v4, v1, v0
    abs     v4, v4
    add.neg v4, v4, s0
    test.ge p0, v4
    cpush.if next_1
    cmask   p0
    add     v10, v10, 1.0
    add     v11, v11, v1
    cpop
next_1:
    add.neg v4, v2, v0
    abs     v4, v4
    add.neg v4, v4, s0
    test.ge p0, v4
    cpush.if next_2
    cmask   p0
    add     v10, v10, 1.0
    add     v11, v11, v2
    cpop
next_2:
    add.neg v4, v3, v0
    abs     v4, v4
    add.neg v4, v4, s0
    test.ge p0, v4
    cpush.if next_3
    cmask   p0
    add     v10, v10, 1.0
    add     v11, v11, v3
    cpop
next_3:
    rcp     v10, v10
    mul     v11, v11, v10
    stglin  v11, 1
    exit

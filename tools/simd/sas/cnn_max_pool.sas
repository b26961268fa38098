// Maximum of each 2 x 2 square of feature maps, stride 2. A work-item for each result.
// A line of the input's buffer is two lines of the map, one after the other: 4 words for each item.
.data
0 0x0       512 3072   // maps
1 0x600000  128 3072   // result
.text
    smov    s0, sc.dim_x
    ldglin.vec2 v0, 0
    ldglin.vec2 v2, 0, s0   // the second line begins as many pairs further on
    max     v0, v0, v1
    max     v2, v2, v3
    max     v0, v0, v2
    stglin  v0, 1
    exit

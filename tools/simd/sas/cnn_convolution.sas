// Convolution 3 x 3 of all channels into all maps, with a bias. A work-item for each pixel.
// Channels lie one below the other, each with a border of one pixel; so do maps, without one.
.data
0 0x0       226 3616   // 16 channels of 226 x 226
1 0x400000  9 256      // weights: map, then channel
2 0x410000  224 3584   // 16 maps of 224 x 224
3 0x800000  16 1       // a bias for each map
.sp_data
0 0x0    34 34
1 0x2000 9 1024
2 0xf000 256 1
.text
    smov    s20, sc.dim_y
    siadd   s21, s20, 2         // lines of a channel
    bufquery.dim_y s0, 0
    sidiv   s22, s0, s21        // channels
    bufquery.dim_y s0, 2
    sidiv   s23, s0, s20        // maps
    smov    s24, sc.wg_off_x
    smov    s25, sc.wg_off_y
    smov    s26, 0              // map
    smov    s27, 0              // line of weights
    smov    s28, 0              // first line of the map
    mov     v2, vc.zero
    ldg2sptile 1, 1
    ldg2sptile 2, 3
map:
    smovssp sc.sd_words, 1
    sldsp   s0, 2, s26
    or      v0, v2, s0
    smovssp sc.sd_words, 9
    siadd   s29, s25, 0
    siadd   s30, s22, 0
channel:
    ldg2sptile 0, 0, s24, s29
    sldsp   s0, 1, 0, s27
    ldsplin v1, 0, 0, 0
    mad     v0, v1, s0, v0
    ldsplin v1, 0, 1, 0
    mad     v0, v1, s1, v0
    ldsplin v1, 0, 2, 0
    mad     v0, v1, s2, v0
    ldsplin v1, 0, 0, 1
    mad     v0, v1, s3, v0
    ldsplin v1, 0, 1, 1
    mad     v0, v1, s4, v0
    ldsplin v1, 0, 2, 1
    mad     v0, v1, s5, v0
    ldsplin v1, 0, 0, 2
    mad     v0, v1, s6, v0
    ldsplin v1, 0, 1, 2
    mad     v0, v1, s7, v0
    ldsplin v1, 0, 2, 2
    mad     v0, v1, s8, v0
    siadd   s27, s27, 1
    siadd   s29, s29, s21
    sisub   s30, s30, 1
    #bound branchcycle 15 1
    sicj.g  channel, s30
    stglin  v0, 2, 0, s28
    siadd   s28, s28, s20
    siadd   s26, s26, 1
    sisub   s0, s23, s26
    #bound branchcycle 15 1
    sicj.g  map, s0
    exit

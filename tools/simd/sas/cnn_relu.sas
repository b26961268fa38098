// max(x, 0) of a layer's activations.
.data
0 0x0        8192 1024  // activations
1 0x2000000  8192 1024  // result
.text
    ldglin  v0, 0
    max     v0, v0, 0.0
    stglin  v0, 1
    exit

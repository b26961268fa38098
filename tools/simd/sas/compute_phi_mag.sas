// MRI-Q, magnitudes of phi: r * r + i * i. A work-item for each sample.
.data
0 0x0       2048 1     // real parts
1 0x2000    2048 1     // imaginary parts
2 0x4000    2048 1     // magnitudes, squared
.text
    ldglin  v0, 0
    ldglin  v1, 1
    mul     v2, v0, v0
    mad     v2, v1, v1, v2
    stglin  v2, 2
    exit

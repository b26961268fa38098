// The kernels of `golden.dataflow.kernels` in OpenCL C, from their mathematics as those are: the
// same graphs, but for the order of their tasks. Threads beyond the data do nothing.

#define GAMMA 1.4f
#define GAMMA_1 0.4f

// z = x + y
__kernel void vector_add(__global const float *x, __global const float *y, __global float *z) {
    int tid = get_global_id(0);
    z[tid] = x[tid] + y[tid];
}

// y = a * x + y, rounded after each operation
__kernel void saxpy(__global const float *x, __global float *y, float a) {
    int tid = get_global_id(0);
    y[tid] = a * x[tid] + y[tid];
}

// Nearest neighbours: the distance of each record from a place
__kernel void euclid(__global const float *latitude, __global const float *longitude,
                     __global float *distance, int records, float lat, float lng) {
    int tid = get_global_id(0);
    if (tid < records) {
        float dx = lat - latitude[tid];
        float dy = lng - longitude[tid];
        distance[tid] = sqrt(dx * dx + dy * dy);
    }
}

// Gaussian elimination: the multipliers of column t, one for each row below it
__kernel void fan1(__global float *m, __global const float *a, int size, int t) {
    int tid = get_global_id(0);
    if (tid < size - 1 - t) {
        int row = size * (tid + t + 1) + t;
        m[row] = a[row] / a[size * t + t];
    }
}

// Gaussian elimination: subtract row t from those below it; a thread for each element.
// Thread = row << shift | column, both counted from t: m is padded likewise.
__kernel void fan2(__global const float *m, __global float *a, __global float *b, int size,
                   int shift, int t) {
    int tid = get_global_id(0);
    int row = tid >> shift;
    int column = tid & ((1 << shift) - 1);
    if ((row < size - 1 - t) & (column < size - t)) {
        int below = size * (row + t + 1);
        float factor = m[below + t];
        int place = below + (column + t);
        a[place] -= factor * a[size * t + t + column];
        if (column == 0)
            b[row + (t + 1)] -= factor * b[t];
    }
}

// Back propagation: each weight moves by rate * delta * unit + momentum * its last move.
// Thread = row << shift | column; a unit for each row, a delta for each column.
__kernel void adjust_weights(__global const float *delta, __global const float *units,
                             __global float *weights, __global float *old, int shift, float rate,
                             float momentum) {
    int tid = get_global_id(0);
    float move = rate * delta[tid & ((1 << shift) - 1)] * units[tid >> shift]
                 + momentum * old[tid];
    weights[tid] += move;
    old[tid] = move;
}

// Breadth-first search: the nodes found in this level are the next level's frontier
__kernel void bfs_kernel2(__global int *frontier, __global int *updating, __global int *visited,
                          __global int *over, int nodes) {
    int tid = get_global_id(0);
    if (tid < nodes) {
        if (updating[tid] == 1) {
            frontier[tid] = 1;
            visited[tid] = 1;
            over[0] = 1;
            updating[tid] = 0;
        }
    }
}

// CFD: the time step of each element, from its speed and its speed of sound
__kernel void compute_step_factor(__global const float *density, __global const float *mx,
                                  __global const float *my, __global const float *mz,
                                  __global const float *energy, __global const float *areas,
                                  __global float *factors) {
    int tid = get_global_id(0);
    float d = density[tid];
    float vx = mx[tid] / d;
    float vy = my[tid] / d;
    float vz = mz[tid] / d;
    float squared = vx * vx + vy * vy + vz * vz;
    float pressure = GAMMA_1 * (energy[tid] - 0.5f * d * squared);
    float sound = sqrt(GAMMA * pressure / d);
    factors[tid] = 0.5f / (sqrt(areas[tid]) * (sqrt(squared) + sound));
}

// CFD: a Runge-Kutta stage; each variable is its old value and a share of its flux
__kernel void time_step(__global const float *old_density, __global const float *old_mx,
                        __global const float *old_my, __global const float *old_mz,
                        __global const float *old_energy, __global float *density,
                        __global float *mx, __global float *my, __global float *mz,
                        __global float *energy, __global const float *flux_density,
                        __global const float *flux_mx, __global const float *flux_my,
                        __global const float *flux_mz, __global const float *flux_energy,
                        __global const float *factors, float stage) {
    int tid = get_global_id(0);
    float factor = factors[tid] / stage;
    density[tid] = old_density[tid] + factor * flux_density[tid];
    mx[tid] = old_mx[tid] + factor * flux_mx[tid];
    my[tid] = old_my[tid] + factor * flux_my[tid];
    mz[tid] = old_mz[tid] + factor * flux_mz[tid];
    energy[tid] = old_energy[tid] + factor * flux_energy[tid];
}

// Particle filter: weights that add up to one; their sum has been worked out before
__kernel void normalize_weights(__global float *weights, __global const float *sums,
                                int particles) {
    int tid = get_global_id(0);
    if (tid < particles)
        weights[tid] /= sums[0];
}

// The numbers that follow two: each variable's store must wait for its load
__kernel void fibonacci(__global const int *first, __global int *second, int count) {
    int tid = get_global_id(0);
    int x = first[tid], y = second[tid];
    for (int k = 0; k < count; k++) {
        int t = x + y;
        x = y;
        y = t;
    }
    second[tid] = y;
}

// A polynomial, where it has not grown beyond 100 before the end: a loop after a return
__kernel void horner(__global const float *coefficients, __global const float *x,
                     __global float *y, int threads, int degree) {
    int tid = get_global_id(0);
    if (tid >= threads)
        return;
    float total = 0.0f;
    for (int k = 0; k <= degree; k++) {
        total = total * x[tid] + coefficients[k];
        if (fabs(total) > 100.0f)
            return;
    }
    y[tid] = total;
}

/* A product of matrices, checked by a vector: (A B) v must be A (B v). */
#include <stdio.h>
#include <stdlib.h>

#define N 10

static int a[N][N], b[N][N], c[N][N];

static void times(int m[N][N], const int *v, int *result)
{
    for (int i = 0; i < N; i++) {
        result[i] = 0;
        for (int j = 0; j < N; j++)
            result[i] += m[i][j] * v[j];
    }
}

int main(void)
{
    int v[N], once[N], twice[N], wrong = 0;
    for (int i = 0; i < N; i++) {
        v[i] = rand() % 100 - 50;
        for (int j = 0; j < N; j++) {
            a[i][j] = rand() % 200 - 100;
            b[i][j] = rand() % 200 - 100;
        }
    }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            for (int k = 0; k < N; k++)
                c[i][j] += a[i][k] * b[k][j];
    times(b, v, once);
    times(a, once, twice);
    times(c, v, once);
    for (int i = 0; i < N; i++)
        wrong += once[i] != twice[i];
    printf("%d x %d: c[0][0] = %d, %d of %d wrong\n", N, N, c[0][0], wrong, N);
    return wrong;
}

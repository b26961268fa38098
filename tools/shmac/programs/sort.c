/* Three ways to sort, and whether their results are the same numbers in order. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT 60

static int numbers[COUNT], sorted[COUNT];

static void insertion(int *a, int count)
{
    for (int i = 1; i < count; i++) {
        int moved = a[i], at = i;
        for (; at > 0 && a[at - 1] > moved; at--)
            a[at] = a[at - 1];
        a[at] = moved;
    }
}

static void quick(int *a, int count)
{
    if (count < 2)
        return;
    int pivot = a[count / 2], left = 0, right = count - 1;
    while (left <= right) {
        while (a[left] < pivot)
            left++;
        while (a[right] > pivot)
            right--;
        if (left <= right) {
            int other = a[left];
            a[left++] = a[right];
            a[right--] = other;
        }
    }
    quick(a, right + 1);
    quick(a + left, count - left);
}

static void sift(int *a, int root, int count)
{
    for (int child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count && a[child + 1] > a[child])
            child++;
        if (a[root] >= a[child])
            return;
        int other = a[root];
        a[root] = a[child];
        a[child] = other;
    }
}

static void heap(int *a, int count)
{
    for (int root = count / 2 - 1; root >= 0; root--)
        sift(a, root, count);
    for (int last = count - 1; last > 0; last--) {
        int other = a[0];
        a[0] = a[last];
        a[last] = other;
        sift(a, 0, last);
    }
}

static int right(const int *a)
{
    unsigned sum = 0, before = 0;
    for (int i = 0; i < COUNT; i++) {
        if (i && a[i - 1] > a[i])
            return 0;
        sum += (unsigned)a[i];
        before += (unsigned)numbers[i];
    }
    return sum == before;
}

int main(void)
{
    static void (*const sorts[])(int *, int) = {insertion, quick, heap};
    static const char *const names[] = {"insertion", "quick", "heap"};
    int wrong = 0;
    for (int i = 0; i < COUNT; i++)
        numbers[i] = rand() - RAND_MAX / 2;
    for (int way = 0; way < 3; way++) {
        memcpy(sorted, numbers, sizeof numbers);
        sorts[way](sorted, COUNT);
        int ok = right(sorted);
        printf("%s sort: %d to %d, %s\n", names[way], sorted[0], sorted[COUNT - 1],
               ok ? "right" : "wrong");
        wrong += !ok;
    }
    return wrong;
}

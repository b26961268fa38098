/* Queens on a board of 7 x 7, of which none attacks another: 40 ways, by recursion. */
#include <stdio.h>

#define SIDE 7

static int place(unsigned columns, unsigned left, unsigned right)
{
    int ways = 0;
    if (columns == (1u << SIDE) - 1)
        return 1;
    for (unsigned free = ~(columns | left | right) & ((1u << SIDE) - 1); free; free &= free - 1) {
        unsigned queen = free & -free;
        ways += place(columns | queen, (left | queen) << 1, (right | queen) >> 1);
    }
    return ways;
}

int main(void)
{
    int ways = place(0, 0, 0);
    printf("%d queens: %d ways\n", SIDE, ways);
    return ways != 40;
}

/* The first program: says where it runs. */
#include <shmac.h>
#include <stdio.h>

int main(void)
{
    printf("Hello from tile (%u, %u), in cycle %u.\n", shmac_row(), shmac_column(), shmac_clock());
    return 0;
}

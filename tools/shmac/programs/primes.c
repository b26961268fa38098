/* The primes below 3000, by a sieve; there are 430. */
#include <stdio.h>
#include <string.h>

#define LIMIT 3000

int main(void)
{
    static unsigned char composite[LIMIT];
    int count = 0, last = 0;
    for (int n = 2; n < LIMIT; n++) {
        if (composite[n])
            continue;
        count++;
        last = n;
        for (int multiple = n * n; multiple < LIMIT; multiple += n)
            composite[multiple] = 1;
    }
    printf("%d primes below %d, the last one is %d\n", count, LIMIT, last);
    return !(count == 430 && last == 2999);
}

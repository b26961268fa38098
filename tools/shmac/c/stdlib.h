#ifndef STDLIB_H
#define STDLIB_H
#include <stddef.h>

#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1
#define RAND_MAX 0x7FFF

_Noreturn void exit(int status);
_Noreturn void abort(void); /* status 134 */
/* From the tile's own memory, between the program and the stack. */
void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void *realloc(void *block, size_t size);
void free(void *block);
int abs(int value);
int atoi(const char *text);
int rand(void);
void srand(unsigned seed);

#endif

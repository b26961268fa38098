#ifndef STRING_H
#define STRING_H
#include <stddef.h>

void *memcpy(void *to, const void *from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int byte, size_t size);
int memcmp(const void *one, const void *two, size_t size);
void *memchr(const void *in, int byte, size_t size);
size_t strlen(const char *text);
int strcmp(const char *one, const char *two);
int strncmp(const char *one, const char *two, size_t size);
char *strcpy(char *to, const char *from);
char *strncpy(char *to, const char *from, size_t size);
char *strcat(char *to, const char *from);
char *strchr(const char *text, int character);
char *strstr(const char *text, const char *word);

#endif

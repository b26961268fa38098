#ifndef STDIO_H
#define STDIO_H
#include <stdarg.h>
#include <stddef.h>

#define EOF (-1)

int putchar(int character);
int puts(const char *text);
/* %d %i %u %x %X %c %s %p %%, with flags 0 - + space, width, precision of %s, l and ll. */
int printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
int sprintf(char *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
int snprintf(char *to, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
int vprintf(const char *format, va_list arguments);
int vsnprintf(char *to, size_t size, const char *format, va_list arguments);

#endif

#include <string.h>

void *memcpy(void *to, const void *from, size_t size)
{
    unsigned char *place = to;
    const unsigned char *next = from;
    if ((((unsigned)to | (unsigned)from) & 3) == 0)
        for (; size >= 4; size -= 4, place += 4, next += 4)
            *(unsigned *)place = *(const unsigned *)next;
    while (size--)
        *place++ = *next++;
    return to;
}

void *memmove(void *to, const void *from, size_t size)
{
    unsigned char *place = to;
    const unsigned char *next = from;
    if (place <= next)
        return memcpy(to, from, size);
    while (size--)
        place[size] = next[size];
    return to;
}

void *memset(void *to, int byte, size_t size)
{
    unsigned char *place = to;
    unsigned word = (unsigned char)byte * 0x01010101u;
    for (; size && (unsigned)place & 3; size--)
        *place++ = (unsigned char)byte;
    for (; size >= 4; size -= 4, place += 4)
        *(unsigned *)place = word;
    while (size--)
        *place++ = (unsigned char)byte;
    return to;
}

int memcmp(const void *one, const void *two, size_t size)
{
    const unsigned char *a = one, *b = two;
    for (; size; size--, a++, b++)
        if (*a != *b)
            return *a - *b;
    return 0;
}

void *memchr(const void *in, int byte, size_t size)
{
    const unsigned char *next = in;
    for (; size; size--, next++)
        if (*next == (unsigned char)byte)
            return (void *)next;
    return 0;
}

size_t strlen(const char *text)
{
    const char *end = text;
    while (*end)
        end++;
    return (size_t)(end - text);
}

int strcmp(const char *one, const char *two)
{
    while (*one && *one == *two)
        one++, two++;
    return (unsigned char)*one - (unsigned char)*two;
}

int strncmp(const char *one, const char *two, size_t size)
{
    for (; size; size--, one++, two++)
        if (*one != *two || !*one)
            return (unsigned char)*one - (unsigned char)*two;
    return 0;
}

char *strcpy(char *to, const char *from)
{
    char *place = to;
    while ((*place++ = *from++))
        ;
    return to;
}

char *strncpy(char *to, const char *from, size_t size)
{
    size_t at = 0;
    for (; at < size && from[at]; at++)
        to[at] = from[at];
    for (; at < size; at++)
        to[at] = 0;
    return to;
}

char *strcat(char *to, const char *from)
{
    strcpy(to + strlen(to), from);
    return to;
}

char *strchr(const char *text, int character)
{
    for (;; text++) {
        if (*text == (char)character)
            return (char *)text;
        if (!*text)
            return 0;
    }
}

char *strstr(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (;; text++) {
        if (!strncmp(text, word, length))
            return (char *)text;
        if (!*text)
            return 0;
    }
}

/* Printing, a character at a time, on the tile's console. */
#include <shmac.h>
#include <stdio.h>
#include <string.h>

struct sink {
    char *to; /* null: the console */
    size_t size, count;
};

static void emit(struct sink *sink, char character)
{
    if (!sink->to)
        putchar(character);
    else if (sink->count + 1 < sink->size)
        sink->to[sink->count] = character;
    sink->count++;
}

static void fill(struct sink *sink, char character, int count)
{
    while (count-- > 0)
        emit(sink, character);
}

int putchar(int character)
{
    SHMAC_CONSOLE = (unsigned char)character;
    return (unsigned char)character;
}

int puts(const char *text)
{
    while (*text)
        putchar(*text++);
    putchar('\n');
    return 1;
}

/* The digits of a number, before `end`; 32 bits are divided as such: 64 take a loop. */
static char *digits(char *end, unsigned long long value, unsigned base, const char *of)
{
    while (value >> 32) {
        *--end = of[value % base];
        value /= base;
    }
    unsigned low = (unsigned)value;
    do
        *--end = of[low % base];
    while (low /= base);
    return end;
}

static void format_into(struct sink *sink, const char *format, va_list arguments)
{
    for (; *format; format++) {
        if (*format != '%') {
            emit(sink, *format);
            continue;
        }
        const char *begun = format++;
        int left = 0, width = 0, precision = -1, wide = 0;
        char pad = ' ', sign = 0;
        for (;; format++) {
            if (*format == '-')
                left = 1;
            else if (*format == '0')
                pad = '0';
            else if (*format == '+' || *format == ' ')
                sign = sign == '+' ? sign : *format;
            else
                break;
        }
        if (*format == '*') {
            width = va_arg(arguments, int);
            if (width < 0)
                left = 1, width = -width;
            format++;
        }
        while (*format >= '0' && *format <= '9')
            width = 10 * width + *format++ - '0';
        if (*format == '.') {
            precision = 0;
            if (*++format == '*') {
                precision = va_arg(arguments, int);
                format++;
            }
            while (*format >= '0' && *format <= '9')
                precision = 10 * precision + *format++ - '0';
        }
        while (*format == 'l' || *format == 'h' || *format == 'z')
            wide += *format++ == 'l';
        char store[24], *end = store + sizeof store, *text = end, before = 0;
        const char *of = *format == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
        switch (*format) {
        case 'd':
        case 'i': {
            long long value = wide > 1 ? va_arg(arguments, long long) : va_arg(arguments, int);
            before = value < 0 ? '-' : sign;
            text = digits(end, value < 0 ? -(unsigned long long)value : (unsigned long long)value,
                          10, of);
            break;
        }
        case 'u':
        case 'x':
        case 'X':
        case 'p':
            text = digits(end, wide > 1 ? va_arg(arguments, unsigned long long)
                                        : va_arg(arguments, unsigned),
                          *format == 'u' ? 10 : 16, of);
            break;
        case 'c':
            *--text = (char)va_arg(arguments, int);
            pad = ' ';
            break;
        case 's':
            text = va_arg(arguments, char *);
            if (!text)
                text = "(null)";
            for (end = text; *end && (precision < 0 || end - text < precision);)
                end++;
            pad = ' ';
            break;
        case '%':
            emit(sink, '%');
            continue;
        default: /* not known here: as it stands */
            for (;;) {
                if (*begun)
                    emit(sink, *begun);
                if (begun == format || !*begun)
                    break;
                begun++;
            }
            if (!*format)
                return;
            continue;
        }
        int length = (int)(end - text) + (before != 0);
        if (!left && pad == ' ')
            fill(sink, ' ', width - length);
        if (before)
            emit(sink, before);
        if (!left && pad == '0')
            fill(sink, '0', width - length);
        while (text != end)
            emit(sink, *text++);
        if (left)
            fill(sink, ' ', width - length);
    }
}

int vprintf(const char *format, va_list arguments)
{
    struct sink sink = {0, 0, 0};
    format_into(&sink, format, arguments);
    return (int)sink.count;
}

int vsnprintf(char *to, size_t size, const char *format, va_list arguments)
{
    char none;
    struct sink sink = {size ? to : &none, size, 0};
    format_into(&sink, format, arguments);
    if (size)
        to[sink.count < size ? sink.count : size - 1] = 0;
    return (int)sink.count;
}

int printf(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int count = vprintf(format, arguments);
    va_end(arguments);
    return count;
}

int snprintf(char *to, size_t size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int count = vsnprintf(to, size, format, arguments);
    va_end(arguments);
    return count;
}

int sprintf(char *to, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int count = vsnprintf(to, (size_t)1 << 30, format, arguments);
    va_end(arguments);
    return count;
}

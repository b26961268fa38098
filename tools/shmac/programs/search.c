/* Words in a text: by the table of Horspool's search, and letter by letter. */
#include <stdio.h>
#include <string.h>

static const char text[] =
    "a core reads its own memory, and a core reads another core's memory through the routers; "
    "a router passes one packet after the other, and none of them waits for ever";

static int horspool(const char *word, int from)
{
    int length = (int)strlen(word), end = (int)strlen(text);
    unsigned char skip[256];
    memset(skip, length, sizeof skip);
    for (int i = 0; i + 1 < length; i++)
        skip[(unsigned char)word[i]] = (unsigned char)(length - 1 - i);
    while (from + length <= end) {
        if (!memcmp(text + from, word, (size_t)length))
            return from;
        from += skip[(unsigned char)text[from + length - 1]];
    }
    return -1;
}

int main(void)
{
    static const char *const words[] = {"core", "memory", "router", "a", "for ever", "clock", "the"};
    int wrong = 0;
    for (unsigned word = 0; word < sizeof words / sizeof *words; word++) {
        int found = 0, plain = 0;
        for (int at = 0; (at = horspool(words[word], at)) >= 0; at++)
            found++;
        for (const char *at = text; (at = strstr(at, words[word])); at++)
            plain++;
        printf("%s: %d\n", words[word], found);
        wrong += found != plain;
    }
    return wrong;
}

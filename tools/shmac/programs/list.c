/* A list in blocks of malloc(), sorted by merging, and given back. */
#include <stdio.h>
#include <stdlib.h>

struct item {
    struct item *next;
    int value;
};

static struct item *merge(struct item *a, struct item *b)
{
    struct item *first = 0, **last = &first;
    while (a && b) {
        struct item **least = a->value <= b->value ? &a : &b;
        *last = *least;
        last = &(*least)->next;
        *least = (*least)->next;
    }
    *last = a ? a : b;
    return first;
}

static struct item *sorted(struct item *list)
{
    if (!list || !list->next)
        return list;
    struct item *slow = list, *fast = list->next;
    while (fast && fast->next) {
        slow = slow->next;
        fast = fast->next->next;
    }
    struct item *half = slow->next;
    slow->next = 0;
    return merge(sorted(list), sorted(half));
}

int main(void)
{
    struct item *list = 0;
    void *volatile before = malloc(8); /* else a compiler leaves both calls out */
    free(before);
    for (int i = 0; i < 80; i++) {
        struct item *item = malloc(sizeof *item);
        if (!item)
            return 2;
        item->value = rand() % 1000;
        item->next = list;
        list = item;
    }
    list = sorted(list);
    int count = 1, wrong = 0;
    for (struct item *item = list; item->next; item = item->next, count++)
        wrong += item->value > item->next->value;
    printf("%d items, %d to", count, list->value);
    for (struct item *next; list; list = next) {
        next = list->next;
        if (!next)
            printf(" %d\n", list->value);
        free(list);
    }
    void *all = malloc(80 * sizeof(struct item)); /* where they were: free blocks become one */
    wrong += all != before || count != 80;
    return wrong;
}

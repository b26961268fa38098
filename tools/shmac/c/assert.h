#undef assert
#ifdef NDEBUG
#define assert(condition) ((void)0)
#else
#define assert(condition) ((condition) ? (void)0 : __shmac_assert(#condition, __FILE__, __LINE__))
#endif
#ifndef ASSERT_H
#define ASSERT_H
_Noreturn void __shmac_assert(const char *condition, const char *file, int line);
#endif

// Wraps glibc's allocator in programs that link this file, which are tests. Every call is forwarded to
// the allocator.

#include "allocations.h"

#include <errno.h>
#include <features.h>
#include <stddef.h>

#ifndef __has_feature
#define __has_feature(feature) 0
#endif

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
  !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static _Thread_local unsigned long count;
static _Thread_local unsigned long bytes;

void *malloc(size_t size) {
  count++;
  bytes += size;
  return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
  count++;
  bytes += number * size;
  return __libc_calloc(number, size);
}

void *realloc(void *old, size_t size) {
  count++;
  bytes += size;
  return __libc_realloc(old, size);
}

void *memalign(size_t alignment, size_t size) {
  count++;
  bytes += size;
  return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **result, size_t alignment, size_t size) {
  void *made = memalign(alignment, size);
  if (made == NULL) return ENOMEM;
  *result = made;
  return 0;
}

bool allocations_are_counted(void) { return true; }
unsigned long allocations_of_this_thread(void) { return count; }
unsigned long allocated_bytes_of_this_thread(void) { return bytes; }

#else

bool allocations_are_counted(void) { return false; }
unsigned long allocations_of_this_thread(void) { return 0; }
unsigned long allocated_bytes_of_this_thread(void) { return 0; }

#endif

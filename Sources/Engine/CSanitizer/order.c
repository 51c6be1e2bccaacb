// Calls of the thread sanitizer for CSanitizer.h, and stubs without it.

#include "CSanitizer.h"

#ifndef __has_feature
#define __has_feature(feature) 0
#endif

#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#include <sanitizer/tsan_interface.h>

void dugout_order_release(const void *address) { __tsan_release((void *)address); }
void dugout_order_acquire(const void *address) { __tsan_acquire((void *)address); }
#else
void dugout_order_release(const void *address) { (void)address; }
void dugout_order_acquire(const void *address) { (void)address; }
#endif

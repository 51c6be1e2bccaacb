// The system's nghttp2: HTTP/2 without input and output.
#pragma once
#include <nghttp2/nghttp2.h>

// Limits that newer versions have. Distributions also add them to older ones, whose number does not say so.
__attribute__((weak)) void nghttp2_option_set_stream_reset_rate_limit(
    nghttp2_option *option, uint64_t burst, uint64_t rate);
__attribute__((weak)) void nghttp2_option_set_max_continuations(nghttp2_option *option, size_t count);

/// Limits floods of resets and of CONTINUATION frames, where this version of nghttp2 can. The session counts resets by
/// itself, with a lower limit.
static inline void dugout_limit_floods(nghttp2_option *option) {
  if (nghttp2_option_set_stream_reset_rate_limit) nghttp2_option_set_stream_reset_rate_limit(option, 2000, 100);
  if (nghttp2_option_set_max_continuations) nghttp2_option_set_max_continuations(option, 8);
}

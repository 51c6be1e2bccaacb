// LZ4 blocks for systems without lz4: a decoder with a dictionary, and a fast encoder.
//
// The block format is LZ4's. Each decoder reads the blocks of the other encoder. Equal input gives equal
// blocks on every processor. No function allocates memory or has global state, so all may be called from any
// thread. Input needs no alignment and may be NULL when its count is zero.

#pragma once

#include <stddef.h>
#include <stdint.h>

#if defined(__clang__)
#define DUGOUT_NULLABLE _Nullable
#pragma clang assume_nonnull begin
#else
#define DUGOUT_NULLABLE
#endif

#ifdef __cplusplus
extern "C" {
#endif

/// The version of the encoder. Another version may give other blocks for the same input.
#define DUGOUT_LZ4_VERSION 10000

/// Returns DUGOUT_LZ4_VERSION: the major version times 10,000, the minor times 100, and the patch.
uint32_t dugout_lz4_version(void);

// MARK: Decoding

/// Decodes a block of `block_count` bytes and returns the size of its content. Returns a negative number if
/// the block is malformed, or if its content is longer than `capacity`.
///
/// The block is not trusted. The decoder reads nothing outside the block and the content, and writes nothing
/// outside `capacity`, but may use all of `capacity`. After a failure the bytes of `output` are unspecified.
ptrdiff_t dugout_lz4_decode(
    const void *DUGOUT_NULLABLE block, size_t block_count, void *DUGOUT_NULLABLE output, size_t capacity);

/// Decodes a block whose content follows a dictionary. The block can refer to the last 65,535 bytes of the
/// dictionary. Decoding is fastest if the dictionary ends where `output` begins. It must not overlap
/// `output`.
ptrdiff_t dugout_lz4_decode_with_dictionary(
    const void *DUGOUT_NULLABLE block, size_t block_count, void *DUGOUT_NULLABLE output, size_t capacity,
    const void *DUGOUT_NULLABLE dictionary, size_t dictionary_count);

// MARK: Encoding

/// Returns the largest size of the block of `count` bytes.
size_t dugout_lz4_bound(size_t count);

/// Encodes `count` bytes as a block and returns its size. Returns 0 if the block is longer than `capacity`.
size_t dugout_lz4_encode(
    const void *DUGOUT_NULLABLE input, size_t count, void *DUGOUT_NULLABLE output, size_t capacity);

#define DUGOUT_LZ4_DICTIONARY_BITS 13

/// A dictionary that is prepared for the encoder. It does not change after it is prepared, so several threads
/// may use it at once. It refers to the bytes of the dictionary, which must outlive it.
typedef struct dugout_lz4_dictionary {
    const uint8_t *DUGOUT_NULLABLE bytes;
    size_t count;
    uint16_t positions[1 << DUGOUT_LZ4_DICTIONARY_BITS];  // by the hash of the bytes at the position
} dugout_lz4_dictionary;

/// Prepares the last 65,535 bytes of a dictionary.
void dugout_lz4_prepare(
    dugout_lz4_dictionary *prepared, const void *DUGOUT_NULLABLE dictionary, size_t dictionary_count);

/// Encodes `count` bytes as a block whose content follows the dictionary. The result is as for
/// `dugout_lz4_encode`.
size_t dugout_lz4_encode_with_dictionary(
    const dugout_lz4_dictionary *prepared, const void *DUGOUT_NULLABLE input, size_t count,
    void *DUGOUT_NULLABLE output, size_t capacity);

#ifdef __cplusplus
}
#endif

#if defined(__clang__)
#pragma clang assume_nonnull end
#endif

// Checksums and digests: CRC32C, SHA-256 and MD5, each on the fastest instructions the processor has.
//
// Every function may be called from any thread. The only global state is, per algorithm, one atomic
// pointer to the implementation chosen on first use. A context belongs to its caller: two threads may
// not use the same one at once. `bytes` needs no alignment and may be NULL when `count` is zero.

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

// MARK: CRC32C

/// The CRC32C (Castagnoli) of `count` bytes that follow bytes whose CRC32C is `crc`; 0 if nothing precedes.
/// Calls chain: crc32c(crc32c(0, a), b) == crc32c(0, a + b).
uint32_t dugout_crc32c(uint32_t crc, const void *DUGOUT_NULLABLE bytes, size_t count);

/// The same function without special instructions, for comparison.
uint32_t dugout_crc32c_portable(uint32_t crc, const void *DUGOUT_NULLABLE bytes, size_t count);

// MARK: SHA-256

#define DUGOUT_SHA256_SIZE 32

/// A SHA-256 in progress. A plain value: a copy continues independently of its original.
typedef struct dugout_sha256 {
    uint32_t state[8];
    uint64_t byte_count;  // of everything hashed so far; modulo 64 it is the fill of `block`
    uint8_t block[64];    // the bytes after the last whole block
    uint32_t portable;    // not 0: never use special instructions
} dugout_sha256;

/// Starts a new digest, whatever `context` held before.
void dugout_sha256_init(dugout_sha256 *context);

/// Starts a new digest that is computed without special instructions, for comparison.
void dugout_sha256_init_portable(dugout_sha256 *context);

/// Appends `count` bytes to what is hashed. Any way of splitting a message gives the same digest.
void dugout_sha256_update(dugout_sha256 *context, const void *DUGOUT_NULLABLE bytes, size_t count);

/// Writes the DUGOUT_SHA256_SIZE bytes of the digest. Afterwards `context` is spent until the next init.
void dugout_sha256_final(dugout_sha256 *context, uint8_t *digest);

// MARK: MD5

#define DUGOUT_MD5_SIZE 16

/// An MD5 in progress. A plain value: a copy continues independently of its original.
/// MD5 is here for protocols that ask for it; it protects against accidents, not against attackers.
/// No processor has instructions for it, so the portable implementation is the only one.
typedef struct dugout_md5 {
    uint32_t state[4];
    uint64_t byte_count;  // of everything hashed so far; modulo 64 it is the fill of `block`
    uint8_t block[64];    // the bytes after the last whole block
} dugout_md5;

/// Starts a new digest, whatever `context` held before.
void dugout_md5_init(dugout_md5 *context);

/// Appends `count` bytes to what is hashed. Any way of splitting a message gives the same digest.
void dugout_md5_update(dugout_md5 *context, const void *DUGOUT_NULLABLE bytes, size_t count);

/// Writes the DUGOUT_MD5_SIZE bytes of the digest. Afterwards `context` is spent until the next init.
void dugout_md5_final(dugout_md5 *context, uint8_t *digest);

#ifdef __cplusplus
}
#endif

#if defined(__clang__)
#pragma clang assume_nonnull end
#endif

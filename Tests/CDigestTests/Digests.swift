// Shared test helpers: calls with Swift types, hexadecimal text, reproducible bytes.

import CDigest

/// `best` is the default implementation on this processor. On a processor without special instructions,
/// `best` is the portable code as well, and the comparison proves nothing.
enum Implementation: CaseIterable, Sendable {
  case best, portable
}

// MARK: Calls

func crc32c(
  _ bytes: some Sequence<UInt8>, after crc: UInt32 = 0, by implementation: Implementation
) -> UInt32 {
  Array(bytes).withUnsafeBytes { crc32c($0[...], after: crc, by: implementation) }
}

func crc32c(
  _ bytes: Slice<UnsafeRawBufferPointer>, after crc: UInt32 = 0, by implementation: Implementation
) -> UInt32 {
  let region = UnsafeRawBufferPointer(rebasing: bytes)
  return switch implementation {
  case .best: dugout_crc32c(crc, region.baseAddress, region.count)
  case .portable: dugout_crc32c_portable(crc, region.baseAddress, region.count)
  }
}

func sha256Started(by implementation: Implementation) -> dugout_sha256 {
  var context = dugout_sha256()
  switch implementation {
  case .best: dugout_sha256_init(&context)
  case .portable: dugout_sha256_init_portable(&context)
  }
  return context
}

func sha256(_ bytes: some Sequence<UInt8>, by implementation: Implementation) -> [UInt8] {
  Array(bytes).withUnsafeBytes { sha256([$0[...]], by: implementation) }
}

func sha256(_ parts: [Slice<UnsafeRawBufferPointer>], by implementation: Implementation) -> [UInt8] {
  var context = sha256Started(by: implementation)
  for part in parts {
    let region = UnsafeRawBufferPointer(rebasing: part)
    dugout_sha256_update(&context, region.baseAddress, region.count)
  }
  return sha256Finished(&context)
}

func sha256Finished(_ context: inout dugout_sha256) -> [UInt8] {
  var digest = [UInt8](repeating: 0, count: Int(DUGOUT_SHA256_SIZE))
  dugout_sha256_final(&context, &digest)
  return digest
}

func md5(_ bytes: some Sequence<UInt8>) -> [UInt8] {
  Array(bytes).withUnsafeBytes { md5([$0[...]]) }
}

func md5(_ parts: [Slice<UnsafeRawBufferPointer>]) -> [UInt8] {
  var context = dugout_md5()
  dugout_md5_init(&context)
  for part in parts {
    let region = UnsafeRawBufferPointer(rebasing: part)
    dugout_md5_update(&context, region.baseAddress, region.count)
  }
  return md5Finished(&context)
}

func md5Finished(_ context: inout dugout_md5) -> [UInt8] {
  var digest = [UInt8](repeating: 0, count: Int(DUGOUT_MD5_SIZE))
  dugout_md5_final(&context, &digest)
  return digest
}

// MARK: Bytes

func hex(_ bytes: [UInt8]) -> String {
  bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}

/// Reproducible bytes without structure (xorshift). `seed` must not be zero.
func randomBytes(count: Int, seed: UInt64) -> [UInt8] {
  precondition(seed != 0, "xorshift never leaves zero")
  var state = seed
  return (0..<count).map { _ in
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return UInt8(truncatingIfNeeded: state >> 24)
  }
}

/// Calls `body` with every range of up to `countMax` bytes that starts 0 to 15 bytes past a 16-byte boundary.
func withEveryLengthAndAlignment(
  countMax: Int, seed: UInt64,
  _ body: (_ bytes: Slice<UnsafeRawBufferPointer>, _ alignment: Int) -> Void
) {
  let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: countMax + 15, alignment: 16)
  defer { buffer.deallocate() }
  buffer.copyBytes(from: randomBytes(count: buffer.count, seed: seed))
  for alignment in 0..<16 {
    for count in 0...countMax {
      body(UnsafeRawBufferPointer(buffer)[alignment..<alignment + count], alignment)
    }
  }
}

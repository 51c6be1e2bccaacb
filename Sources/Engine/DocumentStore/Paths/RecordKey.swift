// A byte-string key for dictionaries.

/// A byte string that is hashed in one call. An array of bytes would be hashed byte by byte.
struct RecordKey: Hashable, Sendable {
  let bytes: [UInt8]

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  func hash(into hasher: inout Hasher) {
    unsafe bytes.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
  }
}

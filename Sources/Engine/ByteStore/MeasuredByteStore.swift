// Access to `ByteStore` for benchmarks outside of this package.

/// The byte-store operations that benchmarks call. Not for users; subject to change.
@_spi(Measure)
public struct MeasuredByteStore: Sendable {
  private let store: ByteStore

  public init(_ path: String) throws { store = try ByteStore.open(path) }

  /// Returns once all entries are on stable storage.
  public func commit(_ entries: some Sequence<(key: [UInt8], value: [UInt8])>) throws {
    var batch = Batch()
    for (key, value) in entries { try batch.put(value, for: key) }
    try store.commit(batch)
  }

  public func value(for key: [UInt8]) throws -> [UInt8]? { try store.value(for: key) }

  /// Calls `body` with the borrowed value; returns false if the key has no value.
  public func read(_ key: [UInt8], _ body: (UnsafeRawBufferPointer) -> Void) throws -> Bool {
    try store.withValue(for: key) { value in unsafe value.withUnsafeBytes { unsafe body($0) } } != nil
  }

  /// Returns once all commits are in segments. With `everything`, also compacts all segments with dead
  /// bytes.
  public func flush(everything: Bool = false) throws { try store.flush(everything ? .everything : .asNeeded) }

  public func close() throws { try store.close() }
}

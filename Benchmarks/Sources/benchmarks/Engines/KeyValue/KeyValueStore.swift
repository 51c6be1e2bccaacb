// Key-value stores.

import Foundation

/// An open store in a directory. Several threads use it at once.
protocol KeyValueStore: AnyObject, Sendable {
  associatedtype Reader: KeyValueReader

  static var name: String { get }
  static var settings: String { get }
  static var hasLog: Bool { get }

  init(_ directory: URL, _ setup: EngineSetup) throws
  /// Writes atomically. The data is on stable storage when the call returns, except with the purpose
  /// `load`.
  func write(_ changes: KeyValueChanges) throws
  /// Calls `body` with a snapshot, which is valid until `body` returns.
  func read<Result>(_ body: (Reader) throws -> Result) throws -> Result
  /// Ends a load. Afterwards all data is compressed and on stable storage.
  func finishLoad() throws
  func compact() throws
  /// See `DocumentEngine`.
  func compactedCopy(to directory: URL) throws -> Bool
  func close() throws
}

extension KeyValueStore {
  func compact() throws {}
  func compactedCopy(to directory: URL) throws -> Bool { false }
}

protocol KeyValueReader {
  /// Calls `body` with the value, borrowed from the store, or with nil.
  func get(_ key: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Int) throws -> Int?
  /// Calls `body` with all entries from a key on, in key order, until it returns false.
  func walk(
    from key: [UInt8], _ body: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws -> Bool
  ) throws
}

/// The puts and deletes of one transaction, packed into one array.
struct KeyValueChanges: Sendable {
  private var bytes: [UInt8] = []
  private var entries: [(keyCount: Int, valueCount: Int?)] = []

  /// Reserves capacity for `entries` entries with `bytes` bytes in total.
  mutating func reserve(entries: Int, bytes: Int) {
    self.entries.reserveCapacity(entries)
    self.bytes.reserveCapacity(bytes)
  }

  mutating func put(_ key: [UInt8], _ value: [UInt8]) {
    bytes += key
    bytes += value
    entries.append((key.count, value.count))
  }

  mutating func remove(_ key: [UInt8]) {
    bytes += key
    entries.append((key.count, nil))
  }

  /// Calls `body` with each change. A delete has no value.
  func forEach(_ body: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer?) throws -> Void)
    throws
  {
    try bytes.withUnsafeBytes { bytes in
      var place = 0
      for (keyCount, valueCount) in entries {
        let key = UnsafeRawBufferPointer(rebasing: bytes[place..<place + keyCount])
        place += keyCount
        let value = valueCount.map { UnsafeRawBufferPointer(rebasing: bytes[place..<place + $0]) }
        place += valueCount ?? 0
        try body(key, value)
      }
    }
  }
}

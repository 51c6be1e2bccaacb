// Documents and their indexes in a key-value store, with the keys of `KeyValueKeys` and packed records.

import Foundation
import SampleDocuments

final class KeyValueDocuments<Store: KeyValueStore>: DocumentEngine {
  static var name: String { Store.name }
  static var settings: String { Store.settings }
  static var hasLog: Bool { Store.hasLog }

  private let store: Store

  init(_ directory: URL, _ setup: EngineSetup) throws { store = try Store(directory, setup) }

  func close() throws { try store.close() }

  // MARK: Writing

  static func writes(_ numbers: [Int]) throws -> KeyValueChanges {
    KeyValueKeys.changes(numbers, record: PackedRecord.bytes)
  }

  struct Update: Sendable {
    var key: [UInt8]
    var score: Double
    /// The new entry in the score index, or nil if the score index does not contain the document.
    var entry: [UInt8]?
  }

  static func updates(_ numbers: [Int], revision: Int) throws -> [Update] {
    numbers.map { number in
      let document = SampleDocument(number, revision: revision)
      let key = KeyValueKeys.document(document.path)
      return Update(
        key: key, score: document.score,
        entry: document.isPost ? nil : KeyValueKeys.score(document.score) + key)
    }
  }

  func write(_ writes: KeyValueChanges) throws { try store.write(writes) }

  /// Writes only the changed entry, as an expert would.
  func update(_ updates: [Update]) throws {
    var changes = KeyValueChanges()
    changes.reserve(entries: 3 * updates.count, bytes: 640 * updates.count)
    try store.read { reader in
      for update in updates {
        var record: [UInt8] = []
        let found = try update.key.withUnsafeBytes { key in
          try reader.get(key) {
            record = Array($0)
            return 0
          }
        }
        guard found != nil, let offset = record.withUnsafeBytes({ PackedRecord.offsetOfScore($0) }) else {
          throw BenchmarkFailure("\(Self.name) does not hold the record to update")
        }
        let old = record.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: Double.self) }
        record.withUnsafeMutableBytes {
          $0.storeBytes(of: update.score.bitPattern.littleEndian, toByteOffset: offset, as: UInt64.self)
        }
        changes.put(update.key, record)
        if let entry = update.entry {
          changes.remove(KeyValueKeys.score(old) + update.key)
          changes.put(entry, [])
        }
      }
    }
    try store.write(changes)
  }

  func finishLoad() throws { try store.finishLoad() }
  func compact() throws { try store.compact() }
  func compactedCopy(to directory: URL) throws -> Bool { try store.compactedCopy(to: directory) }

  // MARK: Reading

  static func key(_ number: Int) throws -> [UInt8] { KeyValueKeys.document(SampleDocument(number).path) }

  func get(_ key: [UInt8]) throws -> Int {
    try store.read { reader in
      try key.withUnsafeBytes { try reader.get($0, PackedRecord.weight) } ?? -1
    }
  }

  func byScore(from score: Double, limit: Int) throws -> Int {
    try weight(of: KeyValueKeys.usersByScore, from: KeyValueKeys.score(score), limit: limit)
  }

  func usersInTown(_ town: String, limit: Int) throws -> Int {
    let prefix = KeyValueKeys.town(town)
    return try weight(of: prefix, from: prefix, limit: limit)
  }

  func usersInTown(_ town: String, until time: Int, limit: Int) throws -> Int {
    try weight(of: KeyValueKeys.town(town), from: KeyValueKeys.town(town, until: time), limit: limit)
  }

  func posts(from time: Int, limit: Int) throws -> Int {
    try weight(of: KeyValueKeys.allPosts, from: KeyValueKeys.posts(from: time), limit: limit)
  }

  func scan() throws -> Int { try scan(from: [UInt8(ascii: "d")], until: nil) }

  func scanInTwo() throws -> Int {
    // Ids begin with one of 62 letters and digits. `V` splits them in half.
    let middle = KeyValueKeys.document("users/V")
    return try TwoThreads.sum(
      { try self.scan(from: [UInt8(ascii: "d")], until: middle) }, { try self.scan(from: middle, until: nil) }
    )
  }

  /// Reads index entries, and the document of each entry.
  private func weight(of prefix: [UInt8], from start: [UInt8], limit: Int) throws -> Int {
    var sum = 0
    var left = limit
    try store.read { reader in
      try reader.walk(from: start) { entry, _ in
        guard entry.count > prefix.count + 8, memcmp(entry.baseAddress!, prefix, prefix.count) == 0 else {
          return false
        }
        let key = UnsafeRawBufferPointer(rebasing: entry[(prefix.count + 8)...])
        guard let weight = try reader.get(key, PackedRecord.weight) else {
          throw BenchmarkFailure("an index of \(Self.name) names a document that is not there")
        }
        sum = SampleDocument.next(sum, weight)
        left -= 1
        return left > 0
      }
    }
    return sum
  }

  private func scan(from start: [UInt8], until end: [UInt8]?) throws -> Int {
    var sum = 0
    try store.read { reader in
      try reader.walk(from: start) { key, value in
        guard key[0] == UInt8(ascii: "d") else { return false }
        if let end, key.count >= end.count, memcmp(key.baseAddress!, end, end.count) >= 0 { return false }
        sum &+= PackedRecord.weight(value)
        return true
      }
    }
    return sum
  }
}

/// Runs two halves of a query at once.
enum TwoThreads {
  static func sum(
    _ first: @escaping @Sendable () throws -> Int, _ second: @escaping @Sendable () throws -> Int
  ) throws -> Int {
    let other = ResultBox<Int>()
    let done = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      other.set(Result { try second() })
      done.signal()
    }
    let sum = Result { try first() }
    done.wait()
    return try sum.get() &+ other.get()
  }
}

/// The result of the other thread.
final class ResultBox<Value: Sendable>: @unchecked Sendable {
  // Guarded by the lock.
  private var result: Result<Value, any Error>?
  private let lock = NSLock()

  func set(_ result: Result<Value, any Error>) { lock.withLock { self.result = result } }

  func get() throws -> Value {
    guard let result = lock.withLock({ result }) else { throw BenchmarkFailure("a thread left no result") }
    return try result.get()
  }
}

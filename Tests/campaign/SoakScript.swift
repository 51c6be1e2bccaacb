// The data of a soak's writers. Each writer has its own keys. The number of a commit determines the commit's
// contents.
//
// The contents of a store can therefore be verified from the seed.

import ByteStore
import Harness

struct SoakScript: Sendable {
  static let writers = 3
  static let keysPerWriter = 12_000

  let seed: UInt64

  /// Returns the changes of one commit; a nil value is a removal.
  func changes(writer: Int, number: Int) -> [(key: Int, valueBytes: Int?)] {
    var random = SeededRandom(seed: SeededRandom.seed(seed, UInt64(writer), UInt64(number)))
    return (0..<1 + random.below(10)).map { _ in
      // Half of the changes go to a small set of keys.
      let key = random.below(random.oneIn(2) ? Self.keysPerWriter : 500)
      if random.oneIn(6) { return (key, nil) }
      let size = [40, 200, 200, 200, 800, 800, 3000][random.below(7)]
      return (key, random.oneIn(500) ? 100_000 : 1 + random.below(size))
    }
  }

  func batch(writer: Int, number: Int) throws(ByteStoreError) -> Batch {
    var batch = Batch(stamp: UInt64(number))
    for (key, valueBytes) in changes(writer: writer, number: number) {
      let name = Self.name(writer, key)
      if let valueBytes {
        try batch.put(value(writer: writer, key: key, number: number, bytes: valueBytes), for: name)
      } else {
        try batch.remove(name)
      }
    }
    var last: [UInt8] = []
    last.append(littleEndian: UInt64(number))
    try batch.put(last, for: Self.lastCommitKey(writer))
    return batch
  }

  func frameBytes(writer: Int, number: Int) -> UInt64 {
    let changes = changes(writer: writer, number: number)
    return SpaceLimits.frameBytes(
      changes.map { (Self.name(writer, $0.key).count, $0.valueBytes.map { 8 + $0 }) }
        + [(Self.lastCommitKey(writer).count, 8)])
  }

  static func name(_ writer: Int, _ key: Int) -> [UInt8] { Array("writer\(writer)/key\(key)".utf8) }

  /// The key that contains the number of the writer's last commit.
  static func lastCommitKey(_ writer: Int) -> [UInt8] { Array("writer\(writer)/last".utf8) }

  /// Returns the value that a commit writes. The value starts with the number of the commit; half of the
  /// remaining bytes are compressible.
  func value(writer: Int, key: Int, number: Int, bytes: Int) -> [UInt8] {
    var random = SeededRandom(seed: SeededRandom.seed(seed, UInt64(writer), UInt64(key), UInt64(number)))
    var value: [UInt8] = []
    value.append(littleEndian: UInt64(number))
    value += random.bytes(bytes / 2)
    return value + [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: bytes - bytes / 2)
  }

  /// Whether a commit up to `last` wrote this value.
  func isValue(_ value: [UInt8], writer: Int, key: Int, upTo last: Int) -> Bool {
    guard let number = Self.number(in: value), number <= last else { return false }
    return value == self.value(writer: writer, key: key, number: number, bytes: value.count - 8)
  }

  static func number(in bytes: [UInt8]?) -> Int? {
    guard let bytes, bytes.count >= 8 else { return nil }
    var reader = ByteReader(bytes.rawSpan)
    return reader.uint64().map { Int(clamping: $0) }
  }
}

/// The expected keys of one writer. For each key, the model stores the last commit that put the key, and the
/// size of the value.
struct SoakModel {
  private(set) var last = 0
  private(set) var keys: [Int: (number: Int, bytes: Int)] = [:]
  private let script: SoakScript
  private let writer: Int

  init(_ script: SoakScript, writer: Int) {
    self.script = script
    self.writer = writer
  }

  mutating func advance(to number: Int) {
    while last < number {
      last += 1
      for (key, bytes) in script.changes(writer: writer, number: last) {
        keys[key] = bytes.map { (last, $0) }
      }
    }
  }

  /// Returns a description of the first difference, or nil.
  func difference(from store: ByteStore) throws -> String? {
    for key in 0..<SoakScript.keysPerWriter {
      let expected = keys[key].map {
        script.value(writer: writer, key: key, number: $0.number, bytes: $0.bytes)
      }
      guard try store.value(for: SoakScript.name(writer, key)) != expected else { continue }
      return "key \(key) of writer \(writer) is not what commit \(keys[key]?.number ?? 0) of \(last) left"
    }
    return nil
  }
}

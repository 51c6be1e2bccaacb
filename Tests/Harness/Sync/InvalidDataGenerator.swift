// Generates invalid data of a remote from a seed. No store may accept the data.

import DocumentStore
import OfflineSync

/// The fields of a remote's messages that can be invalid.
package enum InvalidField: String, CaseIterable, Sendable {
  case depth, fieldName, pendingTime, nestedPendingTime, nestedArray, documentSize, recordSize, vector,
    reference,
    otherPath, path, key, version, createTime, snapshotVersion, token, largeToken, targetID, targetState,
    filterCount, filterBits, resultVersion, resultValue, resultCount, versionBefore, answerToken, overtaken,
    lookup,
    objectMetadata, objectNumbers, objectList
}

package struct InvalidDataGenerator {
  package var random: SeededRandom
  package private(set) var sentCounts: [InvalidField: Int] = [:]

  package init(seed: UInt64) { random = SeededRandom(seed: seed) }

  package mutating func note(_ field: InvalidField) { sentCounts[field, default: 0] += 1 }

  mutating func pick(_ fields: [InvalidField]) -> InvalidField {
    let field = fields[random.below(fields.count)]
    note(field)
    return field
  }

  // MARK: Values

  private static let time = StoredTimestamp(seconds: 1_700_000_000, nanoseconds: 0)

  private static func nest(_ depth: Int) -> StoredValue {
    var value = StoredValue.integer(1)
    for level in 0..<depth {
      // Arrays alternate with maps, because an array must not directly contain an array.
      value = level % 2 == 0 ? .map(StoredMap([("d", value)])) : .array([value])
    }
    return value
  }

  private static func pending(_ previous: StoredValue?) -> StoredValue {
    time.map { StoredValue.pendingTimestamp($0, previous: previous) } ?? .null
  }

  /// Returns a value that is invalid in the given way, for example because it exceeds a limit of documents.
  mutating func value(_ field: InvalidField) -> StoredValue {
    switch field {
    case .depth: Self.nest([21, 22, 40, 300][random.below(4)])
    case .fieldName:
      .map(
        StoredMap([
          ([String(repeating: "n", count: 1501), "", "__name__"][random.below(3)], .integer(1))
        ]))
    case .pendingTime:
      random.oneIn(2) ? Self.pending(nil) : .array([.map(StoredMap([("p", Self.pending(.null))]))])
    case .nestedPendingTime: Self.pending(Self.pending(.integer(1)))
    case .nestedArray: .array([.array([.integer(1)])])
    case .documentSize: .string(String(repeating: "s", count: (1 << 20) + random.below(1 << 20)))
    // Empty values do not count toward the size of a document.
    case .recordSize: .array([StoredValue](repeating: .bytes([]), count: 1_700_000))
    case .vector: .vector([Double](repeating: 1, count: 2049))
    default:
      .reference(
        StoredReference(
          projectID: String(repeating: "p", count: random.oneIn(2) ? 9 << 20 : 1), databaseID: "d",
          path: DocumentPath(unchecked: ["__x__", ""])))
    }
  }

  /// Returns a time that no document can have.
  mutating func version() -> SnapshotVersion {
    let numbers: [Int64] = [.max, .min, -1, -62_135_596_800_000_001, 253_402_300_800_000_000, -5_000_000]
    return SnapshotVersion(microseconds: numbers[random.below(numbers.count)])
  }

  private static let valueFields: [InvalidField] = [
    .depth, .fieldName, .pendingTime, .nestedPendingTime, .nestedArray, .documentSize, .vector, .reference,
  ]

  /// Returns an invalid document to send instead of the given one, and the path under which to send it.
  mutating func document(
    _ path: DocumentPath, _ document: RemoteDocument
  ) -> (path: DocumentPath, document: RemoteDocument) {
    var lie = document
    var fields = Self.valueFields + Self.valueFields + [.otherPath, .path, .key, .version, .createTime]
    // This field is rare, because a record of the maximum size is slow to process.
    if random.oneIn(40) { fields = [.recordSize] }
    let field = pick(fields)
    switch field {
    case .otherPath: lie.path = DocumentPath(unchecked: ["others", "x"])
    case .path:
      let paths: [[String]] = [
        [], ["rooms"], ["rooms", "a", "b"], ["rooms", ""], ["rooms", "."], ["rooms", "a/b"],
        ["__sync__", "globals"],
        ["rooms", String(repeating: "i", count: 1501)], [String](repeating: "c", count: 202),
        [String](repeating: String(repeating: "i", count: 1500), count: 6),
      ]
      lie.path = DocumentPath(unchecked: paths[random.below(paths.count)])
      return (lie.path, lie)
    case .key:
      // The path fits in the key of the document, but not in the client's other keys that contain the path.
      let name = String(repeating: "%", count: 1500)
      lie.path = DocumentPath(unchecked: [name, name, name, name])
      return (lie.path, lie)
    case .version:
      lie.version = version()
      if random.oneIn(3) { lie.fields = nil }
    case .createTime:
      lie.createTime = SnapshotVersion(microseconds: [Int64.max, .min, -1 << 60, 1 << 60][random.below(4)])
    default:
      var changed = StoredMap()
      let isLong = field == .fieldName && random.oneIn(2)
      changed[isLong ? String(repeating: "f", count: 2000) : "lie"] = value(field)
      lie.fields = changed
    }
    return (path, lie)
  }
}

// Keys of documents: there and back, and bytes that are none.

import ByteStore
import Harness
import Testing

@testable import DocumentStore

@Suite struct DocumentKeyTests {
  private static let names = [
    "a", "_", "__", "__id7__", "__id-9223372036854775808__", "__id9223372036854775807__", "__id07__",
    "__id__",
    "zero\0in\0it", "\0", "\0\0", "größer", String(repeating: "long", count: 200),
  ]

  private static var paths: [DocumentPath] {
    var dice = Dice(seed: 21)
    let pairs = names.flatMap { left in names.map { DocumentPath(unchecked: [left, $0]) } }
    let deep = names.map { DocumentPath(unchecked: ["c", "d", $0, $0]) }
    return pairs + deep + (0..<1000).map { _ in DocumentPath.any(&dice) }
  }

  @Test func aKeyIsTheSameWhetherItIsEncodedAtOnceOrSegmentBySegment() {
    let different = Self.paths.filter { path in
      var key = [DocumentKey.keyspace]
      DocumentKey.append(path, to: &key)
      return DocumentKey.encode(path) != key
    }
    #expect(different == [])
  }

  @Test func everyPathComesBackFromItsKey() {
    let different = Self.paths.filter { path in
      DocumentKey.decode(DocumentKey.encode(path)).map { !Self.isSame($0, path) } ?? !Self.isRefused(path)
    }
    #expect(different == [])
  }

  @Test func aDamagedKeyIsNoneOrTheOnlyKeyOfItsPath() {
    var dice = Dice(seed: 22)
    var wrong: [[UInt8]] = []
    for path in Self.paths {
      let key = DocumentKey.encode(path)
      for length in 0..<key.count where DocumentKey.decode(Array(key.prefix(length))) != nil {
        wrong.append(Array(key.prefix(length)))
      }
      for _ in 0..<20 {
        var damaged = key
        damaged[dice.roll(key.count)] = UInt8([0, 1, 2, 0xFF, dice.roll(256)][dice.roll(5)])
        if let decoded = DocumentKey.decode(damaged), DocumentKey.encode(decoded) != damaged {
          wrong.append(damaged)
        }
      }
    }
    #expect(wrong == [])
  }

  @Test func aGroupHasTheDocumentsOfItsCollectionID() {
    var dice = Dice(seed: 23)
    let paths = Self.paths
    var wrong: [(String, DocumentPath)] = []
    for path in paths {
      let key = DocumentKey.encode(path)
      let other = paths[dice.roll(paths.count)]
      for id in [path.collectionID, path.id, other.collectionID] + path.segments {
        var segment: [UInt8] = []
        DocumentKey.append(id, to: &segment)
        let expected = id.isSameUTF8(as: path.collectionID)
        if DocumentKey.isInGroup(segment, key.rawSpan) != expected { wrong.append((id, path)) }
      }
    }
    #expect(wrong.map { "\($0.0) of \($0.1)" } == [])
  }

  @Test func aTextOfAKeyThatIsANumericIDIsNoKey() {
    var key = [DocumentKey.keyspace]
    DocumentKey.append("c", to: &key)
    key += [2] + Array("__id7__".utf8) + [0, 1, 0]
    #expect(DocumentKey.decode(key) == nil)
  }

  private static func isSame(_ left: DocumentPath, _ right: DocumentPath) -> Bool {
    left.segments.elementsEqual(right.segments) { $0.isSameUTF8(as: $1) }
  }

  /// Whether a path is none that a store holds: it was made without checks.
  private static func isRefused(_ path: DocumentPath) -> Bool {
    (try? DocumentPath(stored: path.segments)) == nil
  }
}

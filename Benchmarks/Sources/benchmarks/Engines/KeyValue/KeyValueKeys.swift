// The keys of documents and of index entries in a key-value store, designed as an expert would: index keys
// sort in query order, and end with the document's key, so that an entry leads directly to its document.
//
//   d path                                  -> the document
//   s parent 0 score(8) d path              -> nothing; users by score
//   t parent 0 town 0 ^createdAt(8) d path  -> nothing; users by town, newest first
//   g "posts" 0 createdAt(8) d path         -> nothing; posts of all users by creation time
//
// Scores are never negative, so their big-endian bits sort like their values.

import SampleDocuments

enum KeyValueKeys {
  static func document(_ path: String) -> [UInt8] { Array("d\(path)".utf8) }
  private static func users(_ index: String) -> [UInt8] { Array("\(index)users\0".utf8) }
  static let usersByScore = users("s")
  static func score(_ score: Double) -> [UInt8] { usersByScore + bigEndian(score.bitPattern) }
  static func town(_ town: String) -> [UInt8] { users("t") + Array("\(town)\0".utf8) }
  /// The town's users up to a creation time, newest first.
  static func town(_ town: String, until time: Int) -> [UInt8] { self.town(town) + bigEndian(~UInt64(time)) }
  static let allPosts = Array("gposts\0".utf8)
  static func posts(from time: Int) -> [UInt8] { allPosts + bigEndian(UInt64(time)) }

  /// Returns the puts of documents and of their index entries. `record` encodes a document.
  static func changes(_ numbers: [Int], record: (SampleDocument) -> [UInt8]) -> KeyValueChanges {
    var changes = KeyValueChanges()
    for number in numbers {
      let document = SampleDocument(number)
      let key = self.document(document.path)
      changes.put(key, record(document))
      if document.isPost {
        changes.put(posts(from: document.createdAt) + key, [])
      } else {
        changes.put(score(document.score) + key, [])
        changes.put(town(document.town, until: document.createdAt) + key, [])
      }
    }
    return changes
  }

  private static func bigEndian(_ number: UInt64) -> [UInt8] {
    withUnsafeBytes(of: number.bigEndian, Array.init)
  }
}

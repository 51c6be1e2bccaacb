// Stores of documents as JSON text, for the rows that build objects.

import Foundation

/// An open store whose documents are JSON texts. One thread uses it.
protocol JSONDocuments: AnyObject, SendableMetatype {
  static var name: String { get }
  /// The store's settings and the reasons for them.
  static var settings: String { get }

  /// Opens the store with all documents of the run. Loads it if no earlier row did.
  init(_ context: RunContext) throws
  func close() throws

  /// Calls `body` with the JSON text of the document, borrowed from the store. Returns its result, or -1 if
  /// there is no document. The key is that of `key(_:)`.
  func get(_ key: [UInt8], _ body: (UnsafeRawBufferPointer) throws -> Int) throws -> Int
  /// Calls `body` with the JSON texts of users with at least this score, ordered by score.
  func byScore(from score: Double, limit: Int, _ body: (UnsafeRawBufferPointer) throws -> Void) throws
  static func key(_ number: Int) -> [UInt8]
}

/// The peers that build objects.
enum JSONPeers {
  static var all: [JSONPeer] {
    var types: [any JSONDocuments.Type] = []
    #if SQLITE
    types += [SQLiteJSONDocuments<JSONForm>.self, SQLiteJSONDocuments<GeneratedForm>.self]
    #endif
    #if LMDB
    types.append(LMDBJSONDocuments.self)
    #endif
    return types.flatMap { type in JSONDecoding.allCases.map { JSONPeer(type: type, decoding: $0) } }
  }
}

/// A store together with a way to build objects from its texts.
struct JSONPeer: Sendable {
  var type: any JSONDocuments.Type
  var decoding: JSONDecoding

  var name: String { "\(type.name), \(decoding.rawValue)" }
  var settings: String { "\(type.settings) \(decoding.settings)" }
}

/// The ways to build objects from JSON text.
enum JSONDecoding: String, CaseIterable, Sendable {
  case dictionary = "JSONSerialization"
  case structure = "JSONDecoder"

  var settings: String {
    switch self {
    case .dictionary:
      "Foundation's JSONSerialization builds a dictionary of each text, without a copy of the text."
    case .structure:
      "Foundation's JSONDecoder, one for all documents, builds a struct of each text, without a copy of the text."
    }
  }
}

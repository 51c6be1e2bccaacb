// The gets and queries of W5 and W6 by peers that build the same objects as the Firestore API: from JSON
// text, with JSONSerialization or JSONDecoder.
//
// As in the rows of the API, the timed part counts the fields of a dictionary and visits the fields of a
// struct. The fields of the dictionaries are visited afterwards. All sums must equal those of the other
// engines.

import Foundation
import SampleDocuments

extension JSONPeer {
  var gets: [any Engine] { [JSONGets(peer: self)] }
  var queries: [any Engine] { [JSONQueries(peer: self)] }

  fileprivate func withStore(
    _ context: RunContext, _ body: (any JSONDocuments) throws -> [String: Double]
  ) throws -> [String: Double] {
    let store = try type.init(context)
    let results = Result { try body(store) }
    try store.close()
    return try results.get()
  }

  /// Builds one object, as in the timed part.
  fileprivate func built(_ text: UnsafeRawBufferPointer, _ objects: JSONObjects) throws -> Int {
    switch decoding {
    case .dictionary: try objects.dictionary(text).count
    case .structure: try objects.fields(text).weight { $0 }
    }
  }

  /// Builds one object, and visits all its fields.
  fileprivate func weight(_ text: UnsafeRawBufferPointer, _ objects: JSONObjects) throws -> Int {
    switch decoding {
    case .dictionary: SampleFieldsOfAny.weight(try objects.dictionary(text))
    case .structure: try objects.fields(text).weight { $0 }
    }
  }
}

private struct JSONGets: Engine {
  var peer: JSONPeer
  var name: String { peer.name }

  func round(in directory: URL, _ context: RunContext) throws -> [String: Double] {
    let documents = context.options.documents
    return try peer.withStore(context) { store in
      let warm = try ReadQuery.warmUpNumbers(documents).reduce(0) {
        try $0 &+ store.get(peer.type.key($1)) { JSONObjects.weight($0) }
      }
      try context.answers.note("before \(ReadQuery.get)", warm, of: name)
      let count = ReadQuery.get.times
      let keys = (0..<count).map { peer.type.key(ReadQuery.number($0, below: documents)) }
      let objects = JSONObjects()
      let time = try TimedPass.run(count) { index in
        try store.get(keys[index]) { try peer.built($0, objects) }
      }
      let sum = try keys.reduce(0) { try $0 &+ store.get($1) { try peer.weight($0, objects) } }
      try context.answers.note("\(ReadQuery.get)", sum, of: name)
      return [peer.decoding == .dictionary ? "get_dictionary_ns" : "get_struct_ns": time.nanoseconds]
    }
  }
}

private struct JSONQueries: Engine {
  var peer: JSONPeer
  var name: String { peer.name }

  func round(in directory: URL, _ context: RunContext) throws -> [String: Double] {
    try peer.withStore(context) { store in
      var warm = 0
      try store.byScore(from: SampleDocument.scores.lowerBound, limit: context.options.documents) {
        warm = SampleDocument.next(warm, JSONObjects.weight($0))
      }
      try context.answers.note("before \(ReadQuery.byScore(20))", warm, of: name)
      var results: [String: Double] = [:]
      let objects = JSONObjects()
      for limit in [20, 1000] {
        let query = ReadQuery.byScore(limit)
        let scores = (0..<query.times).map(ReadQuery.score)
        let time = try TimedPass.run(scores.count) { index in
          var sum = 0
          try store.byScore(from: scores[index], limit: limit) { sum &+= try peer.built($0, objects) }
          return sum
        }
        var sum = 0
        for score in scores {
          var weight = 0
          try store.byScore(from: score, limit: limit) {
            weight = SampleDocument.next(weight, try peer.weight($0, objects))
          }
          sum &+= weight
        }
        try context.answers.note("\(query)", sum, of: name)
        let form = peer.decoding == .dictionary ? "dictionaries" : "structs"
        results["limit\(limit)_\(form)_ns"] = time.nanoseconds
      }
      return results
    }
  }
}

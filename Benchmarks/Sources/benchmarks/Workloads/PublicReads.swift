// The gets and queries of W5 to W8 through FirebaseFirestore. The difference from the engine's own times is
// the cost of the public types.

import BenchmarkReports
import FirebaseFirestore
import SampleDocuments

enum PublicReads {
  static let name = "dugout, Firestore API"

  /// A goal for objects, relative to the best peer that builds the same objects. `limit` is the metric of
  /// peers that only visit the fields.
  static func goal(_ title: String, _ metric: String, limit: String) -> Goal {
    Goal(title: title, engine: name, metric: metric, measure: .toBestPeer(metric), bound: 0.25)
      .limited(by: limit)
  }

  static let gets: [any Engine] = [Gets(), DecodeLimit(isRate: false)]
  static let queries: [any Engine] = [Queries()]

  /// Reads one document through an existing reference.
  private struct Gets: Engine {
    var name: String { PublicReads.name }

    func round(in directory: URL, _ context: RunContext) throws -> [String: Double] {
      try PublicReads.withFirestore(context) { firestore in
        let count = ReadQuery.get.times
        let references = (0..<count).map { index in
          firestore.document(SampleDocument(ReadQuery.number(index, below: context.options.documents)).path)
        }
        try PublicReads.warm(firestore, context)
        let asStruct = try TimedPass.run(count) { index in
          try references[index].read(as: SampleFields<Timestamp>.self).weight { $0.microseconds }
        }
        try context.answers.note("\(ReadQuery.get)", asStruct.sum, of: "\(name), struct")
        // Reading values from the dictionary needs casts, which belong to the user's code. The timed part
        // therefore only counts the fields, and the values are compared afterwards.
        let asDictionary = try TimedPass.run(count) { try references[$0].read().data()?.count ?? -1 }
        let sum = try references.reduce(0) { try $0 &+ SampleFieldsOfAny.weight($1.read().data() ?? [:]) }
        try context.answers.note("\(ReadQuery.get)", sum, of: "\(name), dictionary")
        return ["get_struct_ns": asStruct.nanoseconds, "get_dictionary_ns": asDictionary.nanoseconds]
      }
    }
  }

  private struct Queries: Engine {
    var name: String { PublicReads.name }

    func round(in directory: URL, _ context: RunContext) throws -> [String: Double] {
      try PublicReads.withFirestore(context) { firestore in
        let users = firestore.collection("users").order(by: "score")
        var results: [String: Double] = [:]
        let scores = SampleDocument.scores
        // Reads all documents once to warm up, a thousand per query.
        let thousands = Double(max(context.options.documents, 1000)) / 1000
        let step = (scores.upperBound - scores.lowerBound) / thousands
        for score in stride(from: scores.lowerBound, to: scores.upperBound, by: step) {
          _ = try users.start(at: [score]).limit(to: 1000).read()
        }
        for limit in [20, 1000] {
          let queries = (0..<ReadQuery.byScore(limit).times).map {
            users.start(at: [ReadQuery.score($0)]).limit(to: limit)
          }
          let asStructs = try TimedPass.run(queries.count) { index in
            try queries[index].read().documents.reduce(0) {
              try SampleDocument.next(
                $0, $1.data(as: SampleFields<Timestamp>.self).weight { $0.microseconds })
            }
          }
          try context.answers.note("\(ReadQuery.byScore(limit))", asStructs.sum, of: "\(name), structs")
          results["limit\(limit)_structs_ns"] = asStructs.nanoseconds
          let asDictionaries = try TimedPass.run(queries.count) { index in
            try queries[index].read().documents.reduce(0) { $0 &+ $1.data().count }
          }
          results["limit\(limit)_dictionaries_ns"] = asDictionaries.nanoseconds
          let sum = try queries.reduce(0) { sum, query in
            try sum
              &+ query.read().documents.reduce(0) {
                SampleDocument.next($0, SampleFieldsOfAny.weight($1.data()))
              }
          }
          try context.answers.note("\(ReadQuery.byScore(limit))", sum, of: "\(name), dictionaries")
        }
        return results
      }
    }
  }

  /// Opens the store that the engine's rounds use, but through FirebaseFirestore.
  static func withFirestore<Result>(_ context: RunContext, _ body: (Firestore) throws -> Result) throws
    -> Result
  {
    let directory = try context.stores.directory(of: DugoutDocuments.self)
    let firestore = try Firestore.open(at: URL(fileURLWithPath: DugoutDocuments.path(in: directory)))
    let result = Swift.Result { try body(firestore) }
    try Waiting.run { try await firestore.terminate() }
    return try result.get()
  }

  /// Warms up as the engine's rounds do: touches every page that contains documents, and every page that is
  /// read to find them.
  static func warm(_ firestore: Firestore, _ context: RunContext) throws {
    for number in ReadQuery.warmUpNumbers(context.options.documents) {
      _ = try firestore.document(SampleDocument(number).path).read()
    }
  }
}

/// Runs asynchronous work, and blocks the thread of the rounds until the work is done.
enum Waiting {
  static func run<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) throws -> Value {
    let box = ResultBox<Value>()
    let done = DispatchSemaphore(value: 0)
    Task.detached {
      do { box.set(.success(try await body())) } catch { box.set(.failure(error)) }
      done.signal()
    }
    done.wait()
    return try box.get()
  }
}

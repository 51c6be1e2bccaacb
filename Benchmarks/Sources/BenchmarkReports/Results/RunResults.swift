// The results of a run, as values and as JSON.
//
//   file = an array of objects: rows (ResultRow), verdicts (Verdict), and one object `{"run": RunFacts}`

package import Foundation

package struct RunResults: Sendable, Equatable {
  package var facts: RunFacts
  package private(set) var rows: [ResultRow] = []
  package private(set) var verdicts: [Verdict] = []

  package init(_ facts: RunFacts) { self.facts = facts }

  package mutating func add(_ rows: [ResultRow], _ verdicts: [Verdict]) {
    self.rows += rows
    self.verdicts += verdicts
  }

  /// Sentences that a reader must see before the numbers. Empty for a full run.
  package var notices: [String] { facts.notices(measured: Set(rows.map(\.workload))) }

  /// The measured workloads, in order.
  package var workloads: [RunFacts.Title] {
    facts.workloads.filter { title in rows.contains { $0.workload == title.name } }
  }

  package func row(_ workload: String, engine: String, metric: String, documents: Int) -> ResultRow? {
    rows.first {
      $0.workload == workload && $0.engine == engine && $0.metric == metric && $0.documents == documents
    }
  }

  /// Dugout beside each peer, in the order of the goals, for the largest stores of the run.
  package var comparisons: [Comparison] {
    verdicts.filter { $0.documents == facts.documentsMax }.compactMap { Comparison($0, rows) }
  }
}

// MARK: JSON

extension RunResults: Codable {
  private struct Run: Codable {
    var run: RunFacts
  }

  private enum Entry: Decodable {
    case row(ResultRow)
    case verdict(Verdict)
    case run(RunFacts)

    enum Key: String, CodingKey { case run, goal }

    init(from decoder: any Decoder) throws {
      let object = try decoder.container(keyedBy: Key.self)
      if object.contains(.run) {
        self = .run(try object.decode(RunFacts.self, forKey: .run))
      } else if object.contains(.goal) {
        self = .verdict(try Verdict(from: decoder))
      } else {
        self = .row(try ResultRow(from: decoder))
      }
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var list = encoder.unkeyedContainer()
    for row in rows { try list.encode(row) }
    for verdict in verdicts { try list.encode(verdict) }
    try list.encode(Run(run: facts))
  }

  package init(from decoder: any Decoder) throws {
    var list = try decoder.unkeyedContainer()
    var facts: RunFacts?
    var (rows, verdicts): ([ResultRow], [Verdict]) = ([], [])
    while !list.isAtEnd {
      switch try list.decode(Entry.self) {
      case .row(let row): rows.append(row)
      case .verdict(let verdict): verdicts.append(verdict)
      case .run(let run): facts = run
      }
    }
    guard let facts else {
      let context = DecodingError.Context(codingPath: list.codingPath, debugDescription: "")
      throw DecodingError.keyNotFound(Entry.Key.run, context)
    }
    self.init(facts)
    add(rows, verdicts)
  }

  package var json: Data {
    get throws {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
      encoder.nonConformingFloatEncodingStrategy = Self.infinities
      return try encoder.encode(self) + Data("\n".utf8)
    }
  }

  /// Reads what `json` returned.
  package init(json: Data) throws(UnreadableResults) {
    let decoder = JSONDecoder()
    decoder.nonConformingFloatDecodingStrategy = .convertFromString(
      positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    do { self = try decoder.decode(RunResults.self, from: json) } catch { throw UnreadableResults(error) }
  }

  private static let infinities = JSONEncoder.NonConformingFloatEncodingStrategy.convertToString(
    positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
}

/// The reason why a file is no file of results.
package struct UnreadableResults: Error, Equatable, CustomStringConvertible {
  package let description: String

  init(_ error: any Error) {
    switch error {
    case DecodingError.keyNotFound(let key, let context):
      description = "\(Self.place(context))the key \"\(key.stringValue)\" is missing"
    case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context):
      description = "\(Self.place(context))a value has another type"
    case DecodingError.dataCorrupted(let context):
      description =
        context.codingPath.isEmpty ? "it is not JSON" : "\(Self.place(context))\(context.debugDescription)"
    default: description = "\(error)"
    }
  }

  /// Names the entry of the array, counted from 1.
  private static func place(_ context: DecodingError.Context) -> String {
    guard let first = context.codingPath.first, let index = first.intValue else { return "" }
    return "in entry \(index + 1), "
  }
}

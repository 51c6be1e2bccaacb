// A sequence of steps for a store: commits, queries, and maintenance.

internal import DocumentStore

struct QueryProgram: Sendable {
  enum Edit: Sendable {
    case set(DocumentPath, StoredMap)
    /// Changes one field and keeps the others.
    case patch(DocumentPath, StoredFieldPath, StoredValue)
    case delete(DocumentPath)
  }

  enum Step: Sendable {
    case commit([Edit])
    case query(StructuredQuery, [Aggregate])
    case createIndex(IndexDefinition)
    case dropIndex(IndexDefinition)
    case flush
    case compact
    case close
    /// Abandons the store, as if its process was killed, and reopens it.
    case abandon
    case checkInvariants
  }

  var createsIndexes: Bool
  var scanMax: Int
  var steps: [Step]

  /// The random parameters of a program.
  private enum IndexMode: CaseIterable {
    case noIndexes, everyIndex, standard, indexesCreatedBefore, onlyIndexesCreatedBefore
  }

  /// One program in this many is large: it has enough documents for several batches of reads, and few
  /// queries.
  private static let largeEvery = 12
  private static let largeDocuments = 300...1500

  init(seed: UInt64, queriesMax: Int, isLarge: Bool) {
    var generator = DocumentGenerator(seed: seed, plainIDs: isLarge ? Self.largeDocuments.upperBound : 0)
    let indexMode = generator.pick(IndexMode.allCases)
    createsIndexes = indexMode != .noIndexes && indexMode != .onlyIndexesCreatedBefore
    scanMax = indexMode == .standard ? DocumentStore.Options().scanMax : generator.pick([0, 0, 8])
    steps = []

    var documents: [DocumentPath: StoredMap] = [:]
    let count =
      isLarge
      ? Self.largeDocuments.lowerBound + generator.random.below(Self.largeDocuments.count)
      : 8 + generator.random.below(60)
    let first = generator.documents(count)
    var rest = first[...]
    while !rest.isEmpty {
      // The documents are committed in several batches, because one invalid document makes its whole batch
      // fail.
      let batch = rest.prefix(1 + generator.random.below(isLarge ? 8 : 40))
      rest.removeFirst(batch.count)
      commit(batch.map { .set($0.path, $0.fields) }, &documents)
    }
    if indexMode == .indexesCreatedBefore || indexMode == .onlyIndexesCreatedBefore {
      for _ in 0..<2 + generator.random.below(10) {
        steps.append(contentsOf: generator.indexDefinition().map { [.createIndex($0)] } ?? [])
      }
    }
    var queries = QueryGenerator(seed: SeededRandom.seed(seed, 1), about: first)
    var queriesRemaining = min(queriesMax, isLarge ? 40 : 150)
    var known = first
    while queriesRemaining > 0 {
      switch generator.random.below(100) {
      case 0..<8:
        commit(generator.edits(of: documents), &documents)
        known = documents.map { path, fields in Self.document(path, fields) }
        // The paths are sorted, so that a seed reproduces the order.
        known.sort { NaiveOrder.compare($0.path, $1.path) < 0 }
        if known.isEmpty { known = first }
        queries = QueryGenerator(seed: generator.random.next(), about: known)
      case 8: steps.append(.flush)
      case 9: steps.append(.compact)
      case 10: steps.append(.close)
      case 11: steps.append(.abandon)
      case 12: steps.append(.checkInvariants)
      case 13: steps.append(contentsOf: generator.indexDefinition().map { [.createIndex($0)] } ?? [])
      case 14: steps.append(contentsOf: generator.indexDefinition().map { [.dropIndex($0)] } ?? [])
      default:
        let query = generator.random.oneIn(2) ? queries.query() : queries.selectiveQuery()
        guard (try? query.check()) != nil else { continue }
        let aggregates = generator.random.oneIn(4) ? queries.aggregates() : []
        steps.append(.query(query, (try? Aggregate.check(aggregates)) == nil ? [] : aggregates))
        queriesRemaining -= 1
      }
    }
    steps.append(.checkInvariants)
  }

  /// Returns whether the program at this position of a campaign is large.
  static func isLarge(_ number: Int) -> Bool { number % largeEvery == largeEvery - 1 }

  private mutating func commit(_ edits: [Edit], _ documents: inout [DocumentPath: StoredMap]) {
    for edit in edits { edit.apply(to: &documents) }
    steps.append(.commit(edits))
  }

  static func document(_ path: DocumentPath, _ fields: StoredMap) -> StoredDocument {
    // The times of the document do not affect any result.
    guard let time = StoredTimestamp(microseconds: 0) else { preconditionFailure("a time") }
    return StoredDocument(path: path, createTime: time, updateTime: time, fields: fields)
  }
}

extension QueryProgram.Edit {
  func apply(to documents: inout [DocumentPath: StoredMap]) {
    switch self {
    case .set(let path, let fields): documents[path] = fields
    case .patch(let path, let field, let value): documents[path, default: StoredMap()].set(value, at: field)
    case .delete(let path): documents[path] = nil
    }
  }

  var mutation: Mutation {
    switch self {
    case .set(let path, let fields): return .set(path, fields)
    case .patch(let path, let field, let value):
      var fields = StoredMap()
      fields.set(value, at: field)
      return .patch(path, fields, mask: FieldMask([field]))
    case .delete(let path): return .delete(path)
    }
  }
}

extension DocumentGenerator {
  /// Returns changes of a few documents, most of which exist. Several changes may affect the same document.
  fileprivate mutating func edits(of documents: [DocumentPath: StoredMap]) -> [QueryProgram.Edit] {
    let paths = documents.keys.sorted { NaiveOrder.compare($0, $1) < 0 }
    return (0...random.below(random.oneIn(4) ? 20 : 3)).map { _ in
      let path = paths.isEmpty || random.oneIn(4) ? path() : pick(paths)
      switch random.below(6) {
      case 0, 1: return .delete(path)
      case 2, 3: return .patch(path, pick(Self.fields), value())
      default: return .set(path, document().fields)
      }
    }
  }

  /// Returns an index definition, mostly with few fields, so that queries can use the index.
  fileprivate mutating func indexDefinition() -> IndexDefinition? {
    var fields: [IndexDefinition.Field] = []
    for _ in 0...random.below(3) {
      let field = random.oneIn(4) ? pick(Self.fields) : pick(Array(Self.fields.prefix(3)))
      guard !fields.contains(where: { $0.path == field }) else { continue }
      let part: IndexDefinition.Part =
        switch random.below(12) {
        case 0, 1: .value(.descending)
        case 2: .valueOrNull(.ascending)
        case 3: .valueOrNull(.descending)
        case 4, 5: .element
        default: .value(.ascending)
        }
      fields.append(IndexDefinition.Field(field, part))
    }
    let id = pick(["c", "c", "c", "d", "c\u{301}"])
    return try? IndexDefinition(keysOf: id, random.oneIn(3) ? .collectionGroup : .collection, fields: fields)
  }
}

// MARK: As text

extension QueryProgram: CustomStringConvertible {
  var description: String {
    (["createsIndexes \(createsIndexes), scanMax \(scanMax)"] + steps.map { "\($0)" }).joined(separator: "\n")
  }
}

extension QueryProgram.Step: CustomStringConvertible {
  var description: String {
    switch self {
    case .commit(let edits): "commit " + edits.map { "\($0)" }.joined(separator: "; ")
    case .query(let query, let aggregates):
      Self.shortened("query \(query.canonicalID)") + aggregates.map { " \($0.alias)" }.joined()
    case .createIndex(let definition): "create the index \(definition)"
    case .dropIndex(let definition): "drop the index \(definition)"
    case .flush: "flush"
    case .compact: "compact"
    case .close: "close and reopen"
    case .abandon: "abandon and reopen"
    case .checkInvariants: "check all indexes"
    }
  }

  /// Abbreviates long strings, which consist of repetitions of one word.
  static func shortened(_ text: String) -> String {
    let word = Array("long".utf8)
    var rest = Array(text.utf8)[...]
    var short: [UInt8] = []
    while !rest.isEmpty {
      var count = 0
      while rest.starts(with: word) {
        rest.removeFirst(word.count)
        count += 1
      }
      if count > 0 { short += "long*\(count)".utf8 }
      if let byte = rest.popFirst() { short.append(byte) }
    }
    return String(decoding: short, as: UTF8.self)
  }
}

extension QueryProgram.Edit: CustomStringConvertible {
  var description: String {
    switch self {
    case .set(let path, let fields): QueryProgram.Step.shortened("set \(path) \(Self.text(.map(fields)))")
    case .patch(let path, let field, let value):
      QueryProgram.Step.shortened("patch \(path) \(field.canonical) = \(Self.text(value))")
    case .delete(let path): QueryProgram.Step.shortened("delete \(path)")
    }
  }

  private static func text(_ value: StoredValue) -> String {
    switch value {
    case .map(let map):
      "{" + map.entries.map { "\($0.name): \(text($0.value))" }.joined(separator: ", ") + "}"
    case .array(let elements): "[" + elements.map(text).joined(separator: ", ") + "]"
    default: "\(value)"
    }
  }
}

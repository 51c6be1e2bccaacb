// What the documents of the campaign are after each commit, worked out the long way from what was asked for.

import DocumentStore

struct NaiveWorld {
  /// One document and what a commit made of it.
  struct Change: Sendable {
    var path: DocumentPath
    var before: StoredDocument?
    var after: StoredDocument?
  }

  private(set) var documents: [DocumentPath: StoredDocument] = [:]

  init(_ documents: some Sequence<StoredDocument>) {
    for document in documents { self.documents[document.path] = document }
  }

  /// What is different after a commit.
  mutating func commit(_ mutations: [Mutation], at time: StoredTimestamp) -> [Change] {
    var paths: [DocumentPath] = []
    var before: [DocumentPath: StoredDocument] = [:]
    for mutation in mutations where !paths.contains(mutation.path) {
      paths.append(mutation.path)
      before[mutation.path] = documents[mutation.path]
    }
    for mutation in mutations { apply(mutation, at: time) }
    return paths.compactMap { path in
      let change = Change(path: path, before: before[path], after: documents[path])
      return change.before == change.after ? nil : change
    }
  }

  private mutating func apply(_ mutation: Mutation, at time: StoredTimestamp) {
    let old = documents[mutation.path]
    var fields: StoredMap
    switch mutation.change {
    case .set(let all, _): fields = all
    case .patch(let some, let mask, _):
      fields = old?.fields ?? StoredMap()
      for path in mask.paths { fields[path.names[0]] = some[path.names[0]] }
    case .delete, .verify, .place:
      documents[mutation.path] = nil
      return
    }
    for transform in mutation.transforms {
      let name = transform.field.names[0]
      switch transform.operation {
      case .increment(let number): fields[name] = Self.sum(fields[name], number.value)
      case .arrayUnion(let more):
        var list: [StoredValue] = if case .array(let list) = fields[name] { list } else { [] }
        for element in more where !list.contains(element) { list.append(element) }
        fields[name] = .array(list)
      default: preconditionFailure("the campaign has no other transforms")
      }
    }
    if let old, old.fields == fields { return }
    documents[mutation.path] = StoredDocument(
      path: mutation.path, createTime: old?.createTime ?? time, updateTime: time, fields: fields)
  }

  private static func sum(_ value: StoredValue?, _ by: StoredValue) -> StoredValue {
    switch (value, by) {
    case (.integer(let left), .integer(let right)): .integer(left + right)
    case (.double(let left), .integer(let right)): .double(left + Double(right))
    default: by
    }
  }
}

/// The answer of one query after each commit, by the naive evaluator alone: of each commit, only the documents that it
/// changed are looked at.
struct NaiveAnswer {
  private let evaluator: NaiveEvaluator
  private let limit: StructuredQuery.Limit?
  private var matching: [StoredDocument]
  private(set) var documents: [StoredDocument] = []

  init(_ query: StructuredQuery, of world: NaiveWorld) {
    let evaluator = NaiveEvaluator(query)
    self.evaluator = evaluator
    limit = query.limit
    matching = world.documents.values.filter(evaluator.matches).sorted { evaluator.compare($0, $1) < 0 }
    cut()
  }

  /// True if the change is about a document that matches, or did.
  mutating func take(_ change: NaiveWorld.Change) -> Bool {
    let place = matching.firstIndex { $0.path == change.path }
    if let place { matching.remove(at: place) }
    guard let after = change.after, evaluator.matches(after) else { return place != nil }
    var low = 0
    var high = matching.count
    while low < high {
      let middle = (low + high) / 2
      if evaluator.compare(matching[middle], after) < 0 { low = middle + 1 } else { high = middle }
    }
    matching.insert(after, at: low)
    return true
  }

  /// After all changes of a commit; true if the answer is another one.
  mutating func settle() -> Bool {
    let before = documents
    cut()
    return before != documents
  }

  private mutating func cut() {
    switch limit {
    case nil: documents = matching
    case .first(let count): documents = Array(matching.prefix(count))
    case .last(let count): documents = Array(matching.suffix(count))
    }
  }
}

// What the documents of the campaign are after each commit, worked out the long way from what was asked for.

import DocumentStore

struct NaiveWorld {
  /// One document and what a commit made of it.
  struct Change: Sendable {
    var number: Int
    var path: DocumentPath
    var before: StoredDocument?
    var after: StoredDocument?
  }

  private(set) var documents: [DocumentPath: StoredDocument] = [:]
  private var numbers: [DocumentPath: Int] = [:]

  init(_ documents: some Sequence<StoredDocument>) {
    for document in documents {
      self.documents[document.path] = document
      _ = newNumber(document.path)
    }
  }

  /// Of a document that is there or was: instead of its path, where many are compared.
  func number(_ path: DocumentPath) -> Int { numbers[path] ?? -1 }

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
      guard before[path] != documents[path] else { return nil }
      return Change(number: newNumber(path), path: path, before: before[path], after: documents[path])
    }
  }

  private mutating func newNumber(_ path: DocumentPath) -> Int {
    if let number = numbers[path] { return number }
    numbers[path] = numbers.count
    return numbers.count - 1
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
  private struct Match {
    var number: Int
    var document: StoredDocument
  }

  private let evaluator: NaiveEvaluator
  private let limit: StructuredQuery.Limit?
  private var matching: [Match]
  /// The numbers of those: most changes are about others.
  private var numbers: Set<Int>
  private var shown: ArraySlice<Match> = []

  init(_ query: StructuredQuery, of world: NaiveWorld) {
    let evaluator = NaiveEvaluator(query)
    self.evaluator = evaluator
    limit = query.limit
    matching = world.documents.values.filter(evaluator.matches).sorted { evaluator.compare($0, $1) < 0 }
      .map { Match(number: world.number($0.path), document: $0) }
    numbers = Set(matching.map(\.number))
    shown = cut()
  }

  var documents: [StoredDocument] { shown.map(\.document) }

  /// True if the change is about a document that matches, or did.
  func concerns(_ change: NaiveWorld.Change) -> Bool {
    numbers.contains(change.number) || change.after.map(evaluator.matches) == true
  }

  mutating func take(_ change: NaiveWorld.Change) {
    if numbers.remove(change.number) != nil { matching.removeAll { $0.number == change.number } }
    guard let after = change.after, evaluator.matches(after) else { return }
    var low = 0
    var high = matching.count
    while low < high {
      let middle = (low + high) / 2
      if evaluator.compare(matching[middle].document, after) < 0 { low = middle + 1 } else { high = middle }
    }
    matching.insert(Match(number: change.number, document: after), at: low)
    numbers.insert(change.number)
  }

  /// After all changes of a commit; true if the answer is another one. No two commits have one time.
  mutating func settle() -> Bool {
    let before = shown
    shown = cut()
    return !before.elementsEqual(shown) {
      $0.number == $1.number && $0.document.updateTime == $1.document.updateTime
    }
  }

  private func cut() -> ArraySlice<Match> {
    switch limit {
    case nil: matching[...]
    case .first(let count): matching.prefix(count)
    case .last(let count): matching.suffix(count)
    }
  }
}

// The expected documents after each commit, computed from the mutations by a naive model.

import DocumentStore

/// One version of a document after a commit. It is an object, so that thousands of results can share it.
final class NaiveState: Sendable {
  /// The document's number. Comparing numbers is faster than comparing paths.
  let number: Int
  let document: StoredDocument

  init(_ number: Int, _ document: StoredDocument) {
    self.number = number
    self.document = document
  }
}

struct NaiveModel {
  /// The change of one document by a commit.
  struct Change: Sendable {
    var number: Int
    var path: DocumentPath
    var after: NaiveState?
  }

  private(set) var documents: [DocumentPath: StoredDocument] = [:]
  private var numbers: [DocumentPath: Int] = [:]

  init(_ documents: some Sequence<StoredDocument>) {
    for document in documents {
      self.documents[document.path] = document
      _ = newNumber(document.path)
    }
  }

  /// The current version of each document.
  var states: [NaiveState] { documents.map { path, document in NaiveState(numbers[path] ?? -1, document) } }

  /// Applies a commit and returns its changes.
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
      let number = newNumber(path)
      return Change(number: number, path: path, after: documents[path].map { NaiveState(number, $0) })
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

/// The result of one query after each commit, according to the naive evaluator alone. After the first result,
/// only changed documents are evaluated.
struct NaiveResult {
  typealias Documents = LazyMapSequence<ArraySlice<NaiveState>, StoredDocument>

  private let evaluator: NaiveEvaluator
  private let limit: StructuredQuery.Limit?
  private var matching: [NaiveState]
  /// The numbers of the matching documents. Most changes affect other documents and can be skipped after one
  /// lookup.
  private var numbers: Set<Int>
  private var shown: ArraySlice<NaiveState> = []

  init(_ query: StructuredQuery, of world: NaiveModel) {
    let evaluator = NaiveEvaluator(query)
    self.evaluator = evaluator
    limit = query.limit
    matching = world.states.filter { evaluator.matches($0.document) }
      .sorted { evaluator.compare($0.document, $1.document) < 0 }
    numbers = Set(matching.map(\.number))
    shown = cut()
  }

  var documents: Documents { shown.lazy.map(\.document) }

  /// Applies the changes of a commit. Returns nil if no change affects a document that matches or matched.
  /// Otherwise returns whether the result changed.
  mutating func take(_ changes: [NaiveModel.Change]) -> Bool? {
    var isAffected = false
    for change in changes {
      let matches = change.after.map { evaluator.matches($0.document) } == true
      let matched = numbers.contains(change.number)
      guard matches || matched else { continue }
      isAffected = true
      if matched { remove(change.number) }
      if matches, let after = change.after { insert(after) }
    }
    return isAffected ? updateShown() : nil
  }

  private mutating func remove(_ number: Int) {
    numbers.remove(number)
    if let place = matching.firstIndex(where: { $0.number == number }) { matching.remove(at: place) }
  }

  private mutating func insert(_ state: NaiveState) {
    var low = 0
    var high = matching.count
    while low < high {
      let middle = (low + high) / 2
      if evaluator.compare(matching[middle].document, state.document) < 0 {
        low = middle + 1
      } else {
        high = middle
      }
    }
    matching.insert(state, at: low)
    numbers.insert(state.number)
  }

  /// Results are compared by the identity of their objects, because every commit creates new objects.
  private mutating func updateShown() -> Bool {
    let before = shown
    shown = cut()
    return !before.elementsEqual(shown, by: ===)
  }

  private func cut() -> ArraySlice<NaiveState> {
    switch limit {
    case nil: matching[...]
    case .first(let count): matching.prefix(count)
    case .last(let count): matching.suffix(count)
    }
  }
}

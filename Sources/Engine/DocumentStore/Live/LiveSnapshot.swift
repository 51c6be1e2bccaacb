// What a listener is told: a state of its query, and how it came from the one before.

/// One change between two states that a listener was told. Applied one after the other, in their order, to the
/// documents of the state before, they give those of the state after.
public struct LiveChange: Sendable {
  /// What may happen to a document.
  public enum Kind: Sendable, Hashable {
    /// It came, stayed with other content, or went.
    case added, modified, removed
  }

  /// What happened to the document.
  public let kind: Kind
  /// Of a removal, as it was last.
  public let document: StoredDocument
  /// Where it was, once all changes before this one have been made; nil for an addition.
  public let oldIndex: Int?
  /// Where it is then; nil for a removal.
  public let newIndex: Int?
  /// It is what it was, with a later time; also if it was changed and changed back meanwhile.
  package let isOfTimeAlone: Bool
}

/// One committed state of a query.
///
/// ```swift
/// import Dispatch
///
/// let store = try DocumentStore.open("shop-data")
/// let users = StructuredQuery(.collection(try CollectionPath(["users"])))
/// let listening = try store.listen(to: users, on: DispatchQueue(label: "users")) { result in
///   guard case .success(let snapshot) = result else { return }
///   for change in snapshot.changes { print(change.kind, change.document.path) }
/// }
/// listening.remove()
/// ```
public struct LiveSnapshot: Sendable {
  /// The answer, in the query's order.
  public let documents: LiveResults
  /// Since the state that this listener was told before: removals, then additions, then modifications, each in the
  /// order of the query. In the first state all documents are additions.
  public let changes: [LiveChange]
  /// Whether it is the first one, in which everything is new.
  public let isFirst: Bool
  /// Of the last commit that the state is known to have; nil before the first one.
  public let time: StoredTimestamp?

  /// For those who cannot see the times of documents; nil if there is nothing else to tell. Indexes hold as they are:
  /// a document that has only another time keeps its place.
  package var withoutChangesOfTimes: LiveSnapshot? {
    guard changes.contains(where: \.isOfTimeAlone) else { return self }
    let rest = changes.filter { !$0.isOfTimeAlone }
    guard !rest.isEmpty else { return nil }
    return LiveSnapshot(documents: documents, changes: rest, isFirst: isFirst, time: time)
  }
}

/// What has changed between two states, by document: as it was in the first one, and is in the second.
enum LiveDifference {
  struct Change: Sendable {
    let old: LiveEntry?
    var new: LiveEntry?
  }

  case of([[UInt8]: Change])
  /// So much that both states are compared.
  case everything

  /// Beyond so many, what is kept for a listener that is slow could be more than both states are.
  private static let changesMin = 1024

  var isNone: Bool { if case .of(let changes) = self { changes.isEmpty } else { false } }

  mutating func add(_ later: [Change], documents: Int) {
    guard case .of(var changes) = self else { return }
    self = .everything
    for change in later {
      guard let name = (change.old ?? change.new)?.name else { continue }
      changes[name, default: Change(old: change.old)].new = change.new
    }
    guard changes.count <= max(Self.changesMin, 2 * documents) else { return }
    self = .of(changes)
  }

  /// The changes that lead from one state to the other.
  func changes(from old: LiveResults, to new: LiveResults) -> [LiveChange] {
    var removed: [LiveEntry] = []
    var added: [LiveEntry] = []
    var modified: [(old: LiveEntry, new: LiveEntry)] = []
    for change in pairs(old, new) {
      switch (change.old, change.new) {
      case (let old?, nil): removed.append(old)
      case (nil, let new?): added.append(new)
      case (let old?, let new?) where old !== new && old.document != new.document: modified.append((old, new))
      default: break
      }
    }
    removed.sort { $0.sortKey.precedes($1.sortKey) }
    added.sort { $0.sortKey.precedes($1.sortKey) }
    modified.sort { $0.new.sortKey.precedes($1.new.sortKey) }
    var list = old
    var changes: [LiveChange] = []
    changes.reserveCapacity(removed.count + added.count + modified.count)
    for entry in removed {
      let index = list.remove(sortKey: entry.sortKey)
      changes.append(
        LiveChange(
          kind: .removed, document: entry.document, oldIndex: index, newIndex: nil, isOfTimeAlone: false))
    }
    for entry in added {
      let index = list.insert(entry)
      changes.append(
        LiveChange(
          kind: .added, document: entry.document, oldIndex: nil, newIndex: index, isOfTimeAlone: false))
    }
    for (old, new) in modified {
      let (oldIndex, newIndex) = (list.remove(sortKey: old.sortKey), list.insert(new))
      changes.append(
        LiveChange(
          kind: .modified, document: new.document, oldIndex: oldIndex, newIndex: newIndex,
          isOfTimeAlone: new.document.isSame(as: old.document)))
    }
    assert(list.count == new.count, "the changes lead to the new state")
    return changes
  }

  private func pairs(_ old: LiveResults, _ new: LiveResults) -> [Change] {
    if case .of(let changes) = self { return Array(changes.values) }
    return Self.pairs(old.prefix(entries: .max), new.prefix(entries: .max))
  }

  /// Each document that is not the same entry in both.
  static func pairs(_ old: [LiveEntry], _ new: [LiveEntry]) -> [Change] {
    let start = zip(old, new).prefix { $0 === $1 }.count
    let end = zip(old[start...].reversed(), new[start...].reversed()).prefix { $0 === $1 }.count
    let (old, new) = (old[start..<old.count - end], new[start..<new.count - end])
    var changes: [[UInt8]: Change] = [:]
    for entry in old { changes[entry.name] = Change(old: entry) }
    for entry in new { changes[entry.name, default: Change(old: nil)].new = entry }
    return changes.values.filter { $0.old !== $0.new }
  }
}

extension StoredDocument {
  /// With the same fields, and not made anew.
  fileprivate func isSame(as other: StoredDocument) -> Bool {
    createTime == other.createTime && fields == other.fields
  }
}

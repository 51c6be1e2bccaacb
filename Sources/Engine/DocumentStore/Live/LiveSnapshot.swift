// The value that a listener receives: a state of the listener's query, and the changes since the previous
// state.

/// One change between two states that a listener received. If all changes are applied to the old documents
/// one after another, the result is the new documents.
public struct LiveChange: Sendable {
  /// The kinds of change.
  public enum Kind: Sendable, Hashable {
    /// The document entered the result, stayed in it with new content, or left it.
    case added, modified, removed
  }

  /// Whether the document was added, modified or removed.
  public let kind: Kind
  /// The document after the change. For a removal, the document as it last was in the result.
  public let document: StoredDocument
  /// The document's index before this change, when all earlier changes have been applied; nil for an
  /// addition.
  public let oldIndex: Int?
  /// The document's index after this change; nil for a removal.
  public let newIndex: Int?
  /// True if the document's old and new state differ only in the update time. The content may have changed
  /// and changed back in between.
  package let isTimeOnly: Bool
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
  /// The documents of the result, in the query's order.
  public let documents: LiveResults
  /// The changes since the listener's previous state: removals, then additions, then modifications, each in
  /// query order. In the first state, all documents are additions.
  public let changes: [LiveChange]
  /// Whether this is the listener's first state.
  public let isFirst: Bool
  /// Time of the last commit that the state includes; nil before the first commit.
  public let time: StoredTimestamp?

  /// The snapshot for listeners that do not see update times; nil if nothing but update times changed. The
  /// indexes stay valid, because a document that differs only in its update time keeps its position.
  package var withoutTimeOnlyChanges: LiveSnapshot? {
    guard changes.contains(where: \.isTimeOnly) else { return self }
    let rest = changes.filter { !$0.isTimeOnly }
    guard !rest.isEmpty else { return nil }
    return LiveSnapshot(documents: documents, changes: rest, isFirst: isFirst, time: time)
  }
}

/// The changes between two states. For each changed document, this has its entry in the old state and its
/// entry in the new state.
enum LiveDifference {
  struct Change: Sendable {
    let old: LiveEntry?
    var new: LiveEntry?
    /// The state of a document that has left the result, if the view has streams.
    var lastState: LastState?
  }

  case of([[UInt8]: Change])
  /// Too many changes to keep; the two states are compared instead.
  case everything

  /// At least this many changes are kept. Above this number, the limit is proportional to the number of
  /// documents, so that a slow listener does not hold more than the two states themselves.
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

  /// Computes the changes from `old` to `new`.
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
          kind: .removed, document: entry.document, oldIndex: index, newIndex: nil, isTimeOnly: false))
    }
    for entry in added {
      let index = list.insert(entry)
      changes.append(
        LiveChange(
          kind: .added, document: entry.document, oldIndex: nil, newIndex: index, isTimeOnly: false))
    }
    for (old, new) in modified {
      let (oldIndex, newIndex) = (list.remove(sortKey: old.sortKey), list.insert(new))
      changes.append(
        LiveChange(
          kind: .modified, document: new.document, oldIndex: oldIndex, newIndex: newIndex,
          isTimeOnly: new.document.isSame(as: old.document)))
    }
    assert(list.count == new.count, "the changes lead to the new state")
    return changes
  }

  private func pairs(_ old: LiveResults, _ new: LiveResults) -> [Change] {
    if case .of(let changes) = self { return Array(changes.values) }
    return Self.pairs(old.prefix(entries: .max), new.prefix(entries: .max))
  }

  /// Returns a change for each document whose entry differs between the two states.
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
  /// True if fields and create time are equal.
  fileprivate func isSame(as other: StoredDocument) -> Bool {
    createTime == other.createTime && fields == other.fields
  }
}

// Changes of a view's documents, and the merging of successive changes.

internal import DocumentStore

package struct ViewChange: Sendable, Equatable {
  package enum Kind: Sendable, Hashable {
    case removed, added, modified
    /// Only the pending-write flag has changed.
    case metadata
  }

  package let kind: Kind
  /// For a removal, the last version of the document.
  package let document: SyncedDocument

  package init(_ kind: Kind, _ document: SyncedDocument) {
    self.kind = kind
    self.document = document
  }
}

/// The net change of each document after several changes.
struct ViewChangeSet {
  private(set) var changes: [DocumentPath: ViewChange] = [:]

  var isEmpty: Bool { changes.isEmpty }

  mutating func add(_ kind: ViewChange.Kind, _ document: SyncedDocument) {
    let path = document.path
    guard let earlier = changes[path] else {
      changes[path] = ViewChange(kind, document)
      return
    }
    switch (earlier.kind, kind) {
    case (.added, .removed): changes[path] = nil
    case (.added, _): changes[path] = ViewChange(.added, document)
    case (.modified, .metadata): changes[path] = ViewChange(.modified, document)
    case (.removed, .added): changes[path] = ViewChange(.modified, document)
    case (_, .removed): changes[path] = ViewChange(.removed, earlier.document)
    default: changes[path] = ViewChange(kind, document)
    }
  }

  /// Returns the removals, then the additions, then all other changes. Each of these groups is in the order
  /// of the query.
  func sorted(by query: StructuredQuery) -> [ViewChange] {
    func rank(_ kind: ViewChange.Kind) -> Int { kind == .removed ? 0 : kind == .added ? 1 : 2 }
    return changes.values.map { ($0, $0.document.stored.flatMap { query.sortKey($0) } ?? []) }
      .sorted { left, right in
        let (leftRank, rightRank) = (rank(left.0.kind), rank(right.0.kind))
        return leftRank != rightRank ? leftRank < rightRank : left.1.lexicographicallyPrecedes(right.1)
      }
      .map(\.0)
  }
}

// The content of a data source's snapshot, computed once on first access.
//
// The snapshot has a copy of the list. The copy shares the list's storage, which is copied only if the list
// changes while the snapshot exists. To compute the elements before the change, the edits are undone on the
// elements after the change.

import FirebaseFirestore

final class SnapshotContent<T: Object & DataRepresentable> {
  enum Before {
    case elements([T])
    case edits([DocumentList<T>.Edit])
  }

  /// The indices of the changes, or the data to compute them.
  enum ChangedIndices {
    case unchanged
    /// All elements are new, in the order of the list.
    case allNew
    case few(Changed)
    case known(DataSourceIndices)
  }

  /// The changed documents, in the order of the elements in `changes`.
  struct Changed {
    /// The deleted elements with their old indices. An index is nil if it must be looked up.
    var deletions: [(old: Int?, element: T)] = []
    var insertions: [DocumentReference] = []
    /// The replaced elements with their old indices.
    var modifications: [(old: Int?, element: T, reference: DocumentReference)] = []
  }

  private var list: DocumentList<T>
  private let source: Before
  private let changedIndices: ChangedIndices

  init(_ list: DocumentList<T>, _ source: Before, changedIndices: ChangedIndices) {
    self.list = list
    self.source = source
    self.changedIndices = changedIndices
  }

  var count: Int { list.count }

  private(set) lazy var after: [T] = list.elements

  private(set) lazy var before: [T] =
    switch source {
    case .elements(let elements): elements
    case .edits(let edits): DocumentList.undo(edits, in: after)
    }

  private(set) lazy var indices: DataSourceIndices =
    switch changedIndices {
    case .unchanged: DataSourceIndices()
    case .allNew: DataSourceIndices(insertions: Array(0..<list.count))
    case .known(let indices): indices
    case .few(let changed): find(changed)
    }

  private func find(_ changed: Changed) -> DataSourceIndices {
    list.buildTreeIfNeeded()
    return DataSourceIndices(
      deletions: changed.deletions.map { $0.old ?? oldIndex(of: $0.element) },
      insertions: changed.insertions.map { newIndex(of: $0) },
      modifications: changed.modifications.map { newIndex(of: $0.reference) },
      oldModifications: changed.modifications.map { $0.old ?? oldIndex(of: $0.element) })
  }

  private func newIndex(of reference: DocumentReference) -> Int {
    guard let index = list.index(of: reference) else {
      preconditionFailure("an inserted object is in the list")
    }
    return index
  }

  private lazy var oldIndices = Dictionary(
    before.enumerated().map { (ObjectIdentifier($1), $0) }, uniquingKeysWith: { first, _ in first })

  private func oldIndex(of element: T) -> Int {
    guard let index = oldIndices[ObjectIdentifier(element)] else {
      preconditionFailure("a modified object was in the list")
    }
    return index
  }
}

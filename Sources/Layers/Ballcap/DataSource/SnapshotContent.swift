// The content of a data source's snapshot, computed once on first access.
//
// The snapshot has a copy of the list. The copy shares the list's storage, which is copied only if the list
// changes while the snapshot exists. To compute the elements before the change, the edits are undone on the
// elements after the change.

import FirebaseFirestore
import LayerKit

final class SnapshotContent<T: Object & DataRepresentable> {
  enum Before {
    case elements([T])
    case edits([ListEdit<PlacedDocument>])
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
    list.buildRowsIfNeeded()
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

// MARK: Duplicate references

extension SnapshotContent {
  /// Returns the changes between two arrays in which a reference may occur more than once. A reference that
  /// is both removed and inserted counts as one modification.
  static func comparing(
    _ before: [T], _ after: [T]
  ) -> (changes: DataSource<T>.Changes, indices: DataSourceIndices) {
    var removed: [(index: Int, element: T)] = []
    var inserted: [(index: Int, element: T)] = []
    for change in after.difference(from: before, by: { $0 === $1 }) {
      switch change {
      case .remove(let index, let element, _): removed.append((index, element))
      case .insert(let index, let element, _): inserted.append((index, element))
      }
    }
    var (new, modified): ([(index: Int, element: T)], [(old: Int, new: Int, element: T)]) = ([], [])
    for (index, element) in inserted {
      let same = removed.firstIndex { $0.element.documentReference == element.documentReference }
      if let same {
        modified.append((removed.remove(at: same).index, index, element))
      } else {
        new.append((index, element))
      }
    }
    return (
      (removed.map { $0.element }, new.map { $0.element }, modified.map { $0.element }),
      DataSourceIndices(
        deletions: removed.map { $0.index }, insertions: new.map { $0.index },
        modifications: modified.map { $0.new }, oldModifications: modified.map { $0.old })
    )
  }
}

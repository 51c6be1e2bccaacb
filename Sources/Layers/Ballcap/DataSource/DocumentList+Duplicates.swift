// Duplicate references in a list. Only the user can insert them.

import FirebaseFirestore
import LayerKit

extension DocumentList {
  /// Whether any reference is listed more than once. Requires the tree.
  var hasDuplicateReferences: Bool { rows.hasDuplicates }

  /// Returns the handles of all elements with this reference except the last one, which is the element that
  /// counts. Scans the list only if the list has duplicates.
  func duplicates(of reference: DocumentReference) -> [Rows.Handle] {
    guard hasDuplicateReferences, let counted = rows.handle(reference) else { return [] }
    return (0..<rows.count).map { rows.handle(atRow: $0) }
      .filter { $0 != counted && rows.element($0).reference == reference }
  }
}

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

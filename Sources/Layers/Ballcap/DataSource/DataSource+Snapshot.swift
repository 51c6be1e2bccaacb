// One change of a data source, also in a form that a list on a screen can use.

import FirebaseFirestore

extension DataSource {
  /// The list before and after a change, and the change itself.
  ///
  /// The arrays are created on first access. With many documents, use `indices` or `difference` instead.
  public struct Snapshot {
    /// The deleted, inserted and modified elements.
    public let changes: Changes
    private let content: SnapshotContent<T>

    init(_ changes: Changes, _ content: SnapshotContent<T>) {
      self.changes = changes
      self.content = content
    }

    /// The list before the change.
    public var before: [Element] { content.before }
    /// The list after the change.
    public var after: [Element] { content.after }

    /// The number of documents before the change, without creating the array.
    var countBefore: Int { content.count + indices.steps.gone.count - indices.steps.come.count }

    /// The indices of the changed elements. Deletions have indices in `before`, insertions in `after`, and
    /// modifications in both.
    public var indices: DataSourceIndices { content.indices }

    /// The change as removals by old index and insertions by new index. A modification is a removal and an
    /// insertion that are associated with each other.
    public var difference: CollectionDifference<Element> {
      var steps: [CollectionDifference<Element>.Change] = []
      for (index, element) in zip(indices.deletions, changes.deletions) {
        steps.append(.remove(offset: index, element: element, associatedWith: nil))
      }
      for (index, element) in zip(indices.insertions, changes.insertions) {
        steps.append(.insert(offset: index, element: element, associatedWith: nil))
      }
      for (place, element) in changes.modifications.enumerated() {
        let (old, new) = (indices.oldModifications[place], indices.modifications[place])
        steps.append(.remove(offset: old, element: element, associatedWith: new))
        steps.append(.insert(offset: new, element: element, associatedWith: old))
      }
      // A list that was set by hand may have a document twice, which can make the steps inconsistent.
      return CollectionDifference(steps) ?? after.difference(from: before) { $0 === $1 }
    }
  }
}

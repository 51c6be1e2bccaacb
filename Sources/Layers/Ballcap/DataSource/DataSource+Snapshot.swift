// One step of a data source, and how a list on a screen takes it.

import FirebaseFirestore

extension DataSource {
  /// What was there, what is there, and what is between.
  ///
  /// The arrays are made when somebody asks for them: with many documents, look at `indices` or `difference`.
  public struct Snapshot {
    /// What is gone, new and changed.
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

    /// How many there were, without an array of them.
    var countBefore: Int { content.count + indices.steps.gone.count - indices.steps.come.count }

    /// Where the changes are: of deletions in `before`, of insertions in `after`, and of modifications in
    /// both.
    public var indices: DataSourceIndices { content.indices }

    /// The step as a list takes it: what leaves by its old index, then what comes by its new one. A
    /// modification is both, and the two are associated.
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
      // Documents that were set by hand may be there twice, and have no step of their own then.
      return CollectionDifference(steps) ?? after.difference(from: before) { $0 === $1 }
    }
  }
}

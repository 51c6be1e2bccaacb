// The indices of the changes in one snapshot.

/// The indices of the deleted, inserted and modified elements. Each list is in the order of the elements in
/// `changes`.
public struct DataSourceIndices: Hashable, Sendable {
  /// The indices in `before`.
  public let deletions: [Int]
  /// The indices in `after`.
  public let insertions: [Int]
  /// The indices in `after`.
  public let modifications: [Int]
  /// The indices of the modified elements in `before`.
  public let oldModifications: [Int]

  init(
    deletions: [Int] = [], insertions: [Int] = [], modifications: [Int] = [], oldModifications: [Int] = []
  ) {
    self.deletions = deletions
    self.insertions = insertions
    self.modifications = modifications
    self.oldModifications = oldModifications
  }

  /// The rows to remove, by their old index, and the rows to insert, by their new index. This form is for
  /// list views that cannot modify a row: a modified row is in both lists.
  public var steps: (gone: [Int], come: [Int]) {
    (deletions + oldModifications, insertions + modifications)
  }
}

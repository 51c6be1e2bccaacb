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

  /// The change as removed rows by their old index and inserted rows by their new index, for lists without
  /// modifications. A modification is in both.
  public var steps: (gone: [Int], come: [Int]) {
    (deletions + oldModifications, insertions + modifications)
  }
}

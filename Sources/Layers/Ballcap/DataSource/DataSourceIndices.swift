// Where the changes of one step are.

/// Each list is in the order of the elements in `changes`.
public struct DataSourceIndices: Hashable, Sendable {
  /// In `before`.
  public let deletions: [Int]
  /// In `after`.
  public let insertions: [Int]
  /// In `after`.
  public let modifications: [Int]
  /// The same in `before`.
  public let oldModifications: [Int]

  init(
    deletions: [Int] = [], insertions: [Int] = [], modifications: [Int] = [], oldModifications: [Int] = []
  ) {
    self.deletions = deletions
    self.insertions = insertions
    self.modifications = modifications
    self.oldModifications = oldModifications
  }

  /// For lists that know no more than rows that go, by their old index, and rows that come, by their new one:
  /// a modification is both.
  public var steps: (gone: [Int], come: [Int]) {
    (deletions + oldModifications, insertions + modifications)
  }
}

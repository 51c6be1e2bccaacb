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
}

// The indexes as of one commit, for queries.

/// The indexes in a query's snapshot. A class, because a query passes its view on several times.
final class IndexView: Sendable {
  let names: OrderedIndex
  /// Number of nested documents by collection id.
  let nestedNames: [String: Int]
  let longNames: Int
  let indexes: [ManagedIndex]
  /// True if the keys of some declared index of the store were lost.
  let hasLostIndexes: Bool

  init(
    names: OrderedIndex, nestedNames: [String: Int], longNames: Int, indexes: [ManagedIndex],
    hasLostIndexes: Bool = false
  ) {
    self.names = names
    self.nestedNames = nestedNames
    self.longNames = longNames
    self.indexes = indexes
    self.hasLostIndexes = hasLostIndexes
  }

  func index(_ definition: IndexDefinition) -> ManagedIndex? { place(of: definition).map { indexes[$0] } }

  /// The position of an index in the view. The indexes are not copied.
  func place(of definition: IndexDefinition) -> Int? {
    indexes.indices.first { indexes[$0].definition == definition }
  }

  /// Returns this view without the indexes of other collections.
  func of(_ collectionID: String) -> IndexView { with(indexes.ofCollections(collectionID)) }

  /// Returns this view with other indexes.
  func with(_ indexes: [ManagedIndex]) -> IndexView {
    IndexView(
      names: names, nestedNames: nestedNames, longNames: longNames, indexes: indexes,
      hasLostIndexes: hasLostIndexes)
  }
}

extension [ManagedIndex] {
  /// The indexes of collections with this id. The other indexes are visited without a copy.
  func ofCollections(_ id: String) -> [ManagedIndex] {
    var found: [ManagedIndex] = []
    found.reserveCapacity(indices.count { self[$0].definition.collectionID.isSameUTF8(as: id) })
    for place in indices where self[place].definition.collectionID.isSameUTF8(as: id) {
      found.append(self[place])
    }
    return found
  }
}

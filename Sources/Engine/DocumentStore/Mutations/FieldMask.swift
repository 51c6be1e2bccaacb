// The set of fields that a mutation changes.

/// A set of fields, none of which is inside another, because a field includes everything below it.
public struct FieldMask: Hashable, Sendable {
  /// In order.
  public let paths: [StoredFieldPath]

  /// Creates a mask. Paths below other paths are dropped.
  public init(_ paths: some Sequence<StoredFieldPath>) {
    var outermost: [StoredFieldPath] = []
    // In sorted order, a path is followed by all paths below it.
    for path in paths.sorted() where outermost.last?.isPrefix(of: path) != true {
      outermost.append(path)
    }
    self.paths = outermost
  }

  /// Creates a mask of all fields with scalars, arrays and empty maps. For a map that has fields, the mask
  /// contains those fields instead of the map.
  public init(leavesOf fields: StoredMap) {
    self.init(fields.record?.leaves ?? Self.leaves(of: fields, at: []))
  }

  /// Whether the mask is empty.
  public var isEmpty: Bool { paths.isEmpty }

  /// Whether the mask contains the field or a field around it.
  public func covers(_ path: StoredFieldPath) -> Bool {
    //  A prefix of `path` can only be the last of the mask's paths that are less than or equal to `path`.
    var low = 0
    var high = paths.count
    while low < high {
      let middle = (low + high) / 2
      if path < paths[middle] { high = middle } else { low = middle + 1 }
    }
    return low > 0 && paths[low - 1].isPrefix(of: path)
  }

  /// The union of two masks.
  public func union(_ other: FieldMask) -> FieldMask { FieldMask(paths + other.paths) }

  private static func leaves(of fields: StoredMap, at place: [String]) -> [StoredFieldPath] {
    fields.entries.flatMap { name, value in
      if case .map(let inner) = value, !inner.isEmpty { return leaves(of: inner, at: place + [name]) }
      return [StoredFieldPath(unchecked: place + [name])]
    }
  }
}

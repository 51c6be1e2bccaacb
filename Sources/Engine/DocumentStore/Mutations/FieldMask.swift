// Which fields a write is about.

/// Fields of a document, none of them inside another: a field already covers what is below it.
public struct FieldMask: Hashable, Sendable {
  /// In order.
  public let paths: [StoredFieldPath]

  /// Paths below others are dropped.
  public init(_ paths: some Sequence<StoredFieldPath>) {
    var outermost: [StoredFieldPath] = []
    // A path is followed by all paths below it.
    for path in paths.sorted() where outermost.last?.isPrefix(of: path) != true {
      outermost.append(path)
    }
    self.paths = outermost
  }

  /// All that has a value of its own: scalars, arrays and empty maps, but no map that has fields.
  public init(leavesOf fields: StoredMap) {
    self.init(Self.leaves(of: fields, at: []))
  }

  /// Whether no field is named.
  public var isEmpty: Bool { paths.isEmpty }

  /// Whether the field or one around it is in the mask.
  public func covers(_ path: StoredFieldPath) -> Bool {
    // The last one that is not after the path is the only one that can be around it.
    var low = 0
    var high = paths.count
    while low < high {
      let middle = (low + high) / 2
      if path < paths[middle] { high = middle } else { low = middle + 1 }
    }
    return low > 0 && paths[low - 1].isPrefix(of: path)
  }

  /// The fields that are named in either.
  public func union(_ other: FieldMask) -> FieldMask { FieldMask(paths + other.paths) }

  private static func leaves(of fields: StoredMap, at place: [String]) -> [StoredFieldPath] {
    fields.entries.flatMap { name, value in
      if case .map(let inner) = value, !inner.isEmpty { return leaves(of: inner, at: place + [name]) }
      return [StoredFieldPath(unchecked: place + [name])]
    }
  }
}

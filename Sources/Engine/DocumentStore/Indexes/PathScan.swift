// Ranges of names over all collections, and what a query over all collections reads.
//
//   path   := segment* 0x00        DocumentKey.swift, without the keyspace
//   range  := [path | path 0x00, path | path 0x00)
//
// No path is a prefix of another one, so a path with a zero byte behind it is the bound after that path. A
// document is before the documents below it.

import ByteStore

/// Ranges of paths, in order and without overlap.
package struct PathRanges: Sendable, Equatable {
  private(set) var ranges: [ByteRange]

  private init(_ ranges: [ByteRange]) { self.ranges = ranges.filter { !$0.isEmpty } }

  package static let all = PathRanges([ByteRange([], nil)])
  package static let none = PathRanges([])

  package var isEmpty: Bool { ranges.isEmpty }

  /// The documents below a document at any depth, without the document; all documents for nil.
  package static func below(_ document: DocumentPath?) -> PathRanges {
    guard let document else { return .all }
    let prefix = key(document).dropLast()
    // Every segment begins with a byte that is larger than the end of a path.
    return PathRanges([ByteRange(prefix + [DocumentKey.end + 1], Array(prefix).prefixSuccessor)])
  }

  package static func only(_ path: DocumentPath) -> PathRanges {
    PathRanges([ByteRange(key(path), bound(after: path))])
  }

  package static func before(_ path: DocumentPath) -> PathRanges { PathRanges([ByteRange([], key(path))]) }

  package static func through(_ path: DocumentPath) -> PathRanges {
    PathRanges([ByteRange([], bound(after: path))])
  }

  package static func from(_ path: DocumentPath) -> PathRanges { PathRanges([ByteRange(key(path), nil)]) }

  package static func after(_ path: DocumentPath) -> PathRanges {
    PathRanges([ByteRange(bound(after: path), nil)])
  }

  /// All paths whose keys begin with these bytes.
  static func prefix(_ bytes: [UInt8]) -> PathRanges { PathRanges([.prefix(bytes)]) }

  static func key(_ path: DocumentPath) -> [UInt8] {
    var key: [UInt8] = []
    DocumentKey.append(path, to: &key)
    return key
  }

  private static func bound(after path: DocumentPath) -> [UInt8] { key(path) + [0] }

  // MARK: Sets

  package func contains(_ path: DocumentPath) -> Bool { contains(Self.key(path)) }

  /// Whether the ranges contain a path with this key. Takes a binary search.
  func contains(_ key: [UInt8]) -> Bool {
    var (low, high) = (0, ranges.count)
    while low < high {
      let middle = (low + high) / 2
      if let upper = ranges[middle].upper, !key.precedes(upper) { low = middle + 1 } else { high = middle }
    }
    return low < ranges.count && ranges[low].contains(key)
  }

  package var complement: PathRanges {
    var gaps: [ByteRange] = []
    var lower: [UInt8]? = []
    for range in ranges {
      if let lower { gaps.append(ByteRange(lower, range.lower)) }
      lower = range.upper
    }
    if let lower { gaps.append(ByteRange(lower, nil)) }
    return PathRanges(gaps)
  }

  package func union(_ other: PathRanges) -> PathRanges {
    var joined: [ByteRange] = []
    for range in (ranges + other.ranges).sorted(by: { $0.lower.precedes($1.lower) }) {
      guard let last = joined.last, last.upper.map({ !$0.precedes(range.lower) }) ?? true else {
        joined.append(range)
        continue
      }
      guard let end = last.upper, let upper = range.upper else {
        joined[joined.count - 1].upper = nil
        continue
      }
      if end.precedes(upper) { joined[joined.count - 1].upper = upper }
    }
    return PathRanges(joined)
  }

  package func intersection(_ other: PathRanges) -> PathRanges {
    var common: [ByteRange] = []
    var (left, right) = (0, 0)
    while left < ranges.count, right < other.ranges.count {
      common.append(ranges[left].intersection(other.ranges[right]))
      switch (ranges[left].upper, other.ranges[right].upper) {
      case (let end?, let other?) where end.precedes(other): left += 1
      case (_?, nil): left += 1
      default: right += 1
      }
    }
    return PathRanges(common)
  }
}

/// The documents of all collections below a parent, within ranges.
package struct PathScan: Sendable, Equatable {
  /// The document above the collections; nil for the root.
  package let parent: DocumentPath?
  /// Whether documents at any depth count. If not, those of the collections directly below the parent.
  package let isRecursive: Bool
  package private(set) var ranges: PathRanges

  package init(below parent: DocumentPath?, isRecursive: Bool = true, in ranges: PathRanges = .all) {
    self.parent = parent
    self.isRecursive = isRecursive
    self.ranges = ranges.intersection(.below(parent))
  }

  package func contains(_ path: DocumentPath) -> Bool { hasDepth(of: path) && ranges.contains(path) }

  func hasScope(of other: PathScan) -> Bool {
    parent == other.parent && isRecursive == other.isRecursive
  }

  mutating func add(_ other: PathRanges) { ranges = ranges.union(other) }

  private func hasDepth(of path: DocumentPath) -> Bool {
    isRecursive || path.segments.count == (parent?.segments.count ?? 0) + 2
  }

  /// The part of the scan behind a path.
  package func after(_ path: DocumentPath) -> PathScan { limited(to: .after(path)) }

  /// The part of the scan in these ranges.
  package func limited(to ranges: PathRanges) -> PathScan {
    var scan = self
    scan.ranges = self.ranges.intersection(ranges)
    return scan
  }
}

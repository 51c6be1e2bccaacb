// Reads the names of all documents from the pages of the name index in a checkpoint that may be damaged.
//
//   1. tree      go down from the root; a child that cannot be read is a gap with the number of its keys
//   2. leaves    read the leaves below unreadable inner pages, which their parents do not lead to
//
// A page is verified by its checksum. Its keys are not compared with those of its parent: a key only leads
// to an ordinal, and the salvage looks for that entry.

import ByteStore
import StoreTools

struct CheckpointNames {
  /// Keys on pages that cannot be read.
  private struct Gap {
    var first: [UInt8]
    /// The first key behind the gap; nil if the gap is at the end.
    var end: [UInt8]?
    var count: Int?

    func holds(_ key: [UInt8]) -> Bool {
      !key.lexicographicallyPrecedes(first) && end.map(key.lexicographicallyPrecedes) ?? true
    }
  }

  private let pages: SalvagePages
  private let count: Int
  private var visited: Set<Int> = []
  private var gaps: [Gap] = []
  /// The keys that are too long for a tree, by their collection.
  private var truncated: [String: Int] = [:]

  init(_ pages: SalvagePages) {
    self.pages = pages
    count = pages.count(.names)
  }

  /// Passes the key of each document to `body`, with its ordinal. Returns the keys that cannot be read.
  mutating func forEach(
    _ body: (_ key: [UInt8], _ ordinal: UInt32) throws(ByteStoreError) -> Void
  ) throws(ByteStoreError) -> [UnreadableKeys] {
    // A checkpoint that was written while the disk was full has no names.
    guard count > 0 else { return [UnreadableKeys(group: nil, count: nil)] }
    try visit(0, Gap(first: [], end: nil, count: nil), level: nil, body)
    if !gaps.isEmpty {
      for page in 1..<max(1, count) where !visited.contains(page) { try visitLeaf(page, body) }
    }
    let unreadable = gaps.filter { $0.count != 0 }.map {
      UnreadableKeys(group: Self.group(of: $0), count: $0.count)
    }
    return unreadable
      + truncated.sorted { $0.key.precedesInUTF8($1.key) }.map {
        UnreadableKeys(group: $0.key, count: $0.value)
      }
  }

  // MARK: Pages

  private struct Node {
    var entries: [(key: [UInt8], value: UInt32)]
    var level: Int
    var firstChild: Int
  }

  private func node(_ page: Int) -> Node? {
    guard page >= 0, page < count, let payload = pages.payload(.names, page) else { return nil }
    var reader = ByteReader(payload.rawSpan)
    if page == 0, !reader.skip(OrderedIndexFormat.rootHeaderBytes) { return nil }
    guard let level = reader.uint8(), reader.skip(1), let count = reader.uint16(),
      let prefixBytes = reader.uint16(), let tailBytes = reader.uint16(), let firstChild = reader.uint32(),
      let node = OrderedIndexNode(
        level: Int(level), count: Int(count), prefixBytes: Int(prefixBytes), tailBytes: Int(tailBytes),
        content: payload.rawSpan.extracting(droppingFirst: reader.offset))
    else { return nil }
    defer { node.discard() }
    let entries = (0..<node.count).map { (node.key(at: $0), node.value(at: $0)) }
    return Node(entries: entries, level: Int(level), firstChild: Int(firstChild))
  }

  /// Visits the page of a subtree. `whole` describes its keys, for the case that the page cannot be read.
  private mutating func visit(
    _ page: Int, _ whole: Gap, level: Int?, _ body: ([UInt8], UInt32) throws(ByteStoreError) -> Void
  ) throws(ByteStoreError) {
    guard !visited.contains(page), let node = node(page), level == nil || level == node.level else {
      gaps.append(whole)
      return
    }
    visited.insert(page)
    guard node.level > 0 else { return try pass(node, body) }
    for (place, entry) in node.entries.enumerated() {
      let next = place + 1 < node.entries.count ? node.entries[place + 1].key : whole.end
      let child = Gap(first: place == 0 ? whole.first : entry.key, end: next, count: Int(entry.value))
      try visit(node.firstChild + place, child, level: node.level - 1, body)
    }
  }

  private mutating func visitLeaf(
    _ page: Int, _ body: ([UInt8], UInt32) throws(ByteStoreError) -> Void
  ) throws(ByteStoreError) {
    guard let node = node(page), node.level == 0 else { return }
    for (key, _) in node.entries {
      guard let place = gaps.firstIndex(where: { $0.holds(key) }), let count = gaps[place].count else {
        continue
      }
      gaps[place].count = max(0, count - 1)
    }
    try pass(node, body)
  }

  private mutating func pass(
    _ node: Node, _ body: ([UInt8], UInt32) throws(ByteStoreError) -> Void
  ) throws(ByteStoreError) {
    for (name, ordinal) in node.entries {
      if let key = Self.documentKey(of: name) {
        try body(key, ordinal)
      } else {
        truncated[Self.group(of: name) ?? "", default: 0] += 1
      }
    }
  }

  // MARK: Keys

  /// The key of the document with this name; nil if the name is truncated.
  private static func documentKey(of name: [UInt8]) -> [UInt8]? {
    guard let group = DocumentKey.segmentBytes(name.rawSpan) else { return nil }
    let key = [DocumentKey.keyspace] + name[group...]
    return DocumentKey.decode(key) == nil ? nil : key
  }

  private static func group(of gap: Gap) -> String? {
    guard let end = gap.end, let first = group(of: gap.first), let last = group(of: end) else { return nil }
    return first.isSameUTF8(as: last) ? first : nil
  }

  /// The collection id with which a name begins; nil if the name ends in it.
  private static func group(of name: [UInt8]) -> String? {
    guard let bytes = DocumentKey.segmentBytes(name.rawSpan) else { return nil }
    let segment = name[..<bytes]
    return DocumentKey.decode([DocumentKey.keyspace] + segment + segment + [DocumentKey.end])?.collectionID
  }
}

// An index on pages, byte by byte. docs/format.md shows the same.
//
//   index   := page{pages}, the root first, then floor by floor, each from the first key to the last
//   root    := version:u16 reserved[2] pages:u32 keys:u64 node
//   page    := node
//   node    := level:u8 reserved entries:u16 prefixBytes:u16 tailBytes:u16 firstChild:u32 content
//   content := prefix head:u32{entries} place:u16{entries} value:u32{entries} tails
//
// The content is that of a node in memory, see OrderedIndexNode. The pages of a node's children follow each
// other from `firstChild` on, which is 0 in a leaf. Page numbers count from the root. An index without keys
// is a root without entries. What follows on a page is zero. All integers are little-endian.
//
// A page proves nothing about itself, so a reader checks that it can be what its parent says: its level, the
// number of keys below it, and that its keys lie between the parent's bounds. The keys are as many as the
// pages can hold, and each floor is lower than the one before: whatever the bytes are, going through them
// ends.

import ByteStore

enum OrderedIndexFormat {
  static let version: UInt16 = 0
  static let payloadBytesMax = 4088
  static let rootHeaderBytes = 16
  static let nodeHeaderBytes = 12
  static let contentBytesMax = payloadBytesMax - rootHeaderBytes - nodeHeaderBytes
  static let entriesMax = contentBytesMax / OrderedIndexNode.entryBytes
}

/// Where the nodes are that have not been loaded yet.
protocol OrderedIndexPageSource: Sendable {
  /// The bytes of a page of the index, of which the root is 0.
  func payload(ofPage page: Int) throws(DocumentStoreError) -> [UInt8]
  /// What to throw for a page that cannot be part of an index.
  func damage(onPage page: Int, expected: String) -> DocumentStoreError
  /// The page is wanted soon.
  func startReading(_ page: Int)
}

/// The source of an index, and what its root says of all pages.
final class OrderedIndexSource: Sendable {
  private let pages: any OrderedIndexPageSource
  fileprivate let pageCount: Int

  fileprivate init(_ pages: any OrderedIndexPageSource, pageCount: Int) {
    self.pages = pages
    self.pageCount = pageCount
  }

  func startReading(_ stub: OrderedIndexStub) { pages.startReading(stub.page) }

  func payload(of stub: OrderedIndexStub) throws(DocumentStoreError) -> [UInt8] {
    try pages.payload(ofPage: stub.page)
  }

  /// Reads the node for a stub. Its keys lie within `bounds`.
  func node(
    of stub: OrderedIndexStub, within bounds: OrderedIndexBounds
  ) throws(DocumentStoreError) -> OrderedIndexNode {
    let payload = try payload(of: stub)
    var reader = ByteReader(payload.rawSpan)
    guard let node = node(&reader, payload.rawSpan) else {
      throw pages.damage(onPage: stub.page, expected: "a node of an index")
    }
    guard node.level == stub.level, node.keys == Int(stub.keys), bounds.hold(node) else {
      node.release()
      throw pages.damage(onPage: stub.page, expected: "the node that its parent speaks of")
    }
    return node
  }

  /// Nil for bytes that cannot be a node with at least one key. All its children are stubs.
  fileprivate func node(_ reader: inout ByteReader, _ payload: RawSpan) -> OrderedIndexNode? {
    guard let level = reader.uint8(), reader.skip(1), let count = reader.uint16(),
      let prefixBytes = reader.uint16(), let tailBytes = reader.uint16(), let firstChild = reader.uint32(),
      level == 0 ? count >= 1 && firstChild == 0 : count >= 2 && firstChild >= 1,
      Int(firstChild) + (level == 0 ? 0 : Int(count)) <= pageCount,
      let node = OrderedIndexNode(
        level: Int(level), count: Int(count), prefixBytes: Int(prefixBytes), tailBytes: Int(tailBytes),
        content: payload.extracting(droppingFirst: reader.offset))
    else { return nil }
    guard node.isLeaf || hasPossibleKeys(node) else {
      node.discard()
      return nil
    }
    guard !node.isLeaf else { return node }
    for index in 0..<node.count {
      let stub = OrderedIndexStub(
        source: self, page: Int(firstChild) + index, level: Int(level) - 1, keys: node.value(at: index))
      node.setChild(OrderedIndexChild(stub), at: index)
    }
    return node
  }

  /// Whether each child has a key at least, and all have no more than the pages can hold.
  private func hasPossibleKeys(_ node: OrderedIndexNode) -> Bool {
    (0..<node.count).allSatisfy { node.value(at: $0) > 0 }
      && node.keys <= pageCount * OrderedIndexFormat.entriesMax && node.keys < Int(UInt32.max)
  }
}

extension OrderedIndex {
  /// Opens an index of up to `pagesMax` pages, of which only the root is read now.
  init(
    pages: some OrderedIndexPageSource, pagesMax: Int
  ) throws(DocumentStoreError) {
    let payload = try pages.payload(ofPage: 0)
    var reader = ByteReader(payload.rawSpan)
    guard let version = reader.uint16(), version == OrderedIndexFormat.version, reader.skip(2),
      let pageCount = reader.uint32(), pageCount > 0, Int(pageCount) <= pagesMax, let keys = reader.uint64()
    else { throw pages.damage(onPage: 0, expected: "the root of an index of up to \(pagesMax) pages") }
    guard keys > 0 else {
      self.init()
      return
    }
    let source = OrderedIndexSource(pages, pageCount: Int(pageCount))
    guard let root = source.node(&reader, payload.rawSpan) else {
      throw pages.damage(onPage: 0, expected: "a node of an index")
    }
    guard UInt64(root.keys) == keys else {
      root.release()
      throw pages.damage(onPage: 0, expected: "a root with \(keys) keys")
    }
    self.init(root: root)
  }
}

// The page format of an index, byte by byte, as in docs/format.md.
//
//   index   := page{pages}, the root first, then level by level, each from the first key to the last
//   root    := version:u16 reserved[2] pages:u32 keys:u64 node
//   page    := node
//   node    := level:u8 reserved entries:u16 prefixBytes:u16 tailBytes:u16 firstChild:u32 content
//   content := prefix head:u32{entries} place:u16{entries} value:u32{entries} tails
//
// The content is that of a node in memory, see OrderedIndexNode. The pages of a node's children are
// consecutive from `firstChild` on, which is 0 in a leaf. Page numbers count from the root. An index
// without keys is a root without entries. The rest of a page is zero. All integers are little-endian.
//
// A page is not trusted by itself. A reader checks that its level, its number of keys and its key range are
// those that the parent states. The total number of keys is limited by the number of pages, and levels
// decrease on the way down. So a traversal ends, whatever the bytes are.

import ByteStore
import Synchronization

enum OrderedIndexFormat {
  static let version: UInt16 = 0
  static let payloadBytesMax = 4088
  static let rootHeaderBytes = 16
  static let nodeHeaderBytes = 12
  static let contentBytesMax = payloadBytesMax - rootHeaderBytes - nodeHeaderBytes
  static let entriesMax = contentBytesMax / OrderedIndexNode.entryBytes
}

/// The storage of nodes that are not loaded.
protocol OrderedIndexPageSource: Sendable {
  /// The bytes of a page of the index. The root is page 0.
  func payload(ofPage page: Int) throws(DocumentStoreError) -> [UInt8]
  /// The error for a page that cannot be part of the index.
  func damage(onPage page: Int, expected: String) -> DocumentStoreError
  /// Starts to prefetch the page.
  func startReading(_ page: Int)
}

/// The number of an index's stubs whose nodes are not in memory. Outlives the source, which is closed once no
/// stub needs it.
final class OrderedIndexStubCount: Sendable {
  private let count = Atomic<Int>(0)

  /// Whether all nodes are in memory. If they are, they stay in memory, and no new stubs are created.
  var isZero: Bool { count.load(ordering: .acquiring) == 0 }

  fileprivate func add(_ more: Int) { count.wrappingAdd(more, ordering: .relaxed) }

  fileprivate func remove() { count.wrappingSubtract(1, ordering: .releasing) }
}

/// The source of an index, with the number of pages that its root states.
final class OrderedIndexSource: Sendable {
  private let pages: any OrderedIndexPageSource
  fileprivate let pageCount: Int
  fileprivate let stubs = OrderedIndexStubCount()

  fileprivate init(_ pages: any OrderedIndexPageSource, pageCount: Int) {
    self.pages = pages
    self.pageCount = pageCount
  }

  /// Notes that the node of a stub was loaded, or that a stub was released before its node was loaded.
  func noteLoaded() { stubs.remove() }

  func startReading(_ stub: OrderedIndexStub) { pages.startReading(stub.page) }

  func payload(of stub: OrderedIndexStub) throws(DocumentStoreError) -> [UInt8] {
    try pages.payload(ofPage: stub.page)
  }

  /// Reads the node of a stub. The node's keys must lie within `bounds`.
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
      throw pages.damage(onPage: stub.page, expected: "the node that its parent refers to")
    }
    return node
  }

  /// Decodes a node, whose children all become stubs. Returns nil if the bytes are not a node with at least
  /// one key.
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
    stubs.add(node.count)
    for index in 0..<node.count {
      let stub = OrderedIndexStub(
        source: self, page: Int(firstChild) + index, level: Int(level) - 1, keys: node.value(at: index))
      node.setChild(OrderedIndexChild(stub), at: index)
    }
    return node
  }

  /// Returns whether each child has keys, and whether all children together have no more keys than the pages
  /// can hold.
  private func hasPossibleKeys(_ node: OrderedIndexNode) -> Bool {
    (0..<node.count).allSatisfy { node.value(at: $0) > 0 }
      && node.keys <= pageCount * OrderedIndexFormat.entriesMax && node.keys < Int(UInt32.max)
  }
}

extension OrderedIndex {
  /// Opens an index of up to `pagesMax` pages. Reads only the root.
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
    self.init(root: root, stubs: source.stubs)
  }
}

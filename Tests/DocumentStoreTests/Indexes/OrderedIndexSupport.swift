// Conveniences that let tests of the ordered index pass keys as arrays.

import ByteStore

@testable import DocumentStore

extension OrderedIndex {
  func ordinal(of key: [UInt8]) throws(DocumentStoreError) -> UInt32? { try ordinal(of: key.rawSpan) }

  func rank(of key: [UInt8]) throws(DocumentStoreError) -> Int { try rank(of: key.rawSpan) }

  @discardableResult
  mutating func insert(_ key: [UInt8], _ ordinal: UInt32) throws(DocumentStoreError) -> UInt32? {
    try insert(key.rawSpan, ordinal)
  }

  @discardableResult
  mutating func remove(_ key: [UInt8]) throws(DocumentStoreError) -> UInt32? { try remove(key.rawSpan) }

  /// All entries, read by a cursor.
  func entries() throws -> [Entry] {
    var entries: [Entry] = []
    var cursor = try cursor()
    while try cursor.next() { entries.append(Entry(key: cursor.keyBytes, ordinal: cursor.ordinal)) }
    return entries
  }

  struct Entry: Equatable {
    var key: [UInt8]
    var ordinal: UInt32
  }
}

extension OrderedIndexCursor {
  var keyBytes: [UInt8] {
    mutating get { Array(copying: key()) }
  }
}

extension [UInt8] {
  func precedes(_ other: [UInt8]) -> Bool { rawSpan.precedes(other.rawSpan) }
}

/// Pages in memory, with a count of reads per page.
struct PagesInMemory: OrderedIndexPageSource {
  var payloads: [[UInt8]]
  let reads = Locked<[Int]>([])

  var count: Int { payloads.count }

  init(_ pages: OrderedIndexPages) throws {
    payloads = try (0..<pages.count).map { try pages.payload(ofPage: $0) }
  }

  func payload(ofPage page: Int) throws(DocumentStoreError) -> [UInt8] {
    guard payloads.indices.contains(page) else { throw damage(onPage: page, expected: "a page") }
    reads.withLock { $0.append(page) }
    return payloads[page]
  }

  func startReading(_ page: Int) {}

  func damage(onPage page: Int, expected: String) -> DocumentStoreError {
    .corrupted(StorageEvidence(message: "page \(page): expected \(expected)"))
  }
}

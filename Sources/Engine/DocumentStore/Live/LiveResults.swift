// Documents in query order: a chunked array with copy-on-write, so that each copy is a stable snapshot.
//
// Invariants:
//   - Sort keys ascend, and no chunk is empty or larger than `chunkMax`.
//   - Copies share chunks. A change copies the changed chunk and the list of chunks.

/// A document with its sort key.
package final class LiveEntry: Sendable {
  /// The values of all fields that the query orders by, encoded as bytes that sort in query order. The
  /// document's name is one of these values.
  package let sortKey: [UInt8]
  /// The document's key.
  package let name: [UInt8]
  package let document: StoredDocument

  package init(_ sortKey: [UInt8], _ name: [UInt8], document: StoredDocument) {
    self.sortKey = sortKey
    self.name = name
    self.document = document
  }
}

extension StructuredQuery {
  /// The sort key of a document. Nil if the document lacks a field that the query orders by.
  package func sortKey(_ document: StoredDocument) -> [UInt8]? {
    var key: [UInt8] = []
    for order in orders {
      guard let value = order.value(in: document) else { return nil }
      IndexKey.append(value, order.direction, to: &key)
    }
    return key
  }
}

/// The documents of a live query, in the query's order. Copies are cheap. Iterating is as fast as over an
/// array. For large results, access by index is a little slower than in an array.
public struct LiveResults: RandomAccessCollection, Sendable {
  private static let chunkMax = 256

  private var chunks: [[LiveEntry]] = []
  public private(set) var count = 0

  package init() {}

  /// The entries must already be in order.
  package init(sorted entries: some Collection<LiveEntry>) {
    count = entries.count
    var rest = entries[...]
    while !rest.isEmpty {
      chunks.append(Array(rest.prefix(Self.chunkMax / 2)))
      rest = rest.dropFirst(Self.chunkMax / 2)
    }
  }

  public var startIndex: Int { 0 }
  public var endIndex: Int { count }

  public subscript(index: Int) -> StoredDocument { entry(at: index).document }

  public func makeIterator() -> some IteratorProtocol<StoredDocument> {
    chunks.joined().lazy.map(\.document).makeIterator()
  }

  // MARK: Entries

  package var entries: some Sequence<LiveEntry> { chunks.joined() }

  package var last: LiveEntry? { chunks.last?.last }

  package func entry(at index: Int) -> LiveEntry {
    precondition((0..<count).contains(index), "there is no document \(index) of \(count)")
    var rest = index
    for chunk in chunks {
      if rest < chunk.count { return chunk[rest] }
      rest -= chunk.count
    }
    preconditionFailure("the chunks have all documents")
  }

  /// The first `limit` entries.
  func prefix(entries limit: Int) -> [LiveEntry] {
    var first: [LiveEntry] = []
    first.reserveCapacity(Swift.min(limit, count))
    for chunk in chunks {
      guard first.count < limit else { break }
      first += chunk.prefix(limit - first.count)
    }
    return first
  }

  package func entry(sortKey: [UInt8]) -> LiveEntry? {
    let (place, isFound) = place(of: sortKey)
    return isFound ? chunks[place.chunk][place.index] : nil
  }

  func first(named name: [UInt8]) -> LiveEntry? { chunks.joined().first { $0.name == name } }

  // MARK: Changing

  private struct Place {
    var chunk: Int
    var index: Int
  }

  /// The position of a sort key, or the position where it would be inserted.
  private func place(of key: [UInt8]) -> (place: Place, isFound: Bool) {
    var low = 0
    var high = chunks.count
    while low < high {
      let middle = (low + high) / 2
      if chunks[middle].last.map({ $0.sortKey.precedes(key) }) ?? true {
        low = middle + 1
      } else {
        high = middle
      }
    }
    guard low < chunks.count else { return (Place(chunk: low, index: 0), false) }
    let chunk = low
    low = 0
    high = chunks[chunk].count
    while low < high {
      let middle = (low + high) / 2
      if chunks[chunk][middle].sortKey.precedes(key) { low = middle + 1 } else { high = middle }
    }
    return (Place(chunk: chunk, index: low), chunks[chunk][low].sortKey == key)
  }

  private func index(of place: Place) -> Int {
    chunks[..<place.chunk].reduce(0) { $0 + $1.count } + place.index
  }

  /// Inserts an entry whose key is not present. Returns its index.
  @discardableResult
  package mutating func insert(_ entry: LiveEntry) -> Int {
    var (place, isFound) = place(of: entry.sortKey)
    precondition(!isFound, "a document appears once")
    count += 1
    if place.chunk == chunks.count {
      if chunks.isEmpty { chunks.append([]) }
      place = Place(chunk: chunks.count - 1, index: chunks[chunks.count - 1].count)
    }
    let index = index(of: place)
    chunks[place.chunk].insert(entry, at: place.index)
    if chunks[place.chunk].count > Self.chunkMax {
      let half = chunks[place.chunk].count / 2
      let second = Array(chunks[place.chunk][half...])
      chunks[place.chunk].removeSubrange(half...)
      chunks.insert(second, at: place.chunk + 1)
    }
    return index
  }

  /// Removes an entry. Returns the index it had, or nil if the key is not present.
  @discardableResult
  package mutating func remove(sortKey: [UInt8]) -> Int? {
    let (place, isFound) = place(of: sortKey)
    guard isFound else { return nil }
    let index = index(of: place)
    count -= 1
    if chunks[place.chunk].count == 1 {
      chunks.remove(at: place.chunk)
    } else {
      chunks[place.chunk].remove(at: place.index)
    }
    return index
  }
}

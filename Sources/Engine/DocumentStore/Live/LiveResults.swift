// Documents in the order of a query: an array in chunks, of which every copy is a frozen state.
//
// Invariants:
//   - Sort keys ascend, and no chunk is empty or larger than `chunkMax`.
//   - Copies share chunks; a change copies the one that it changes and the list of them.

/// A document and where it stands in the order of a query.
package final class LiveEntry: Sendable {
  /// The values of all orders as bytes that sort as they do; the document's name is among them.
  package let sortKey: [UInt8]
  /// The key of the document.
  package let name: [UInt8]
  package let document: StoredDocument

  package init(_ sortKey: [UInt8], _ name: [UInt8], _ document: StoredDocument) {
    self.sortKey = sortKey
    self.name = name
    self.document = document
  }
}

extension StructuredQuery {
  /// Nil for a document that lacks a field of the orders.
  package func sortKey(_ document: StoredDocument) -> [UInt8]? {
    var key: [UInt8] = []
    for order in orders {
      guard let value = order.value(in: document) else { return nil }
      IndexKey.append(value, order.direction, to: &key)
    }
    return key
  }
}

/// The documents of a live query, in its order. Copies are cheap; to go through all takes as long as with an array,
/// and to look at one by its index, for large results, a little longer.
public struct LiveResults: RandomAccessCollection, Sendable {
  private static let chunkMax = 256

  private var chunks: [[LiveEntry]] = []
  public private(set) var count = 0

  package init() {}

  /// In their order already.
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

  /// The first so many.
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

  /// Where a key is, or would be.
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

  /// Adds an entry whose key is not there. Its index.
  @discardableResult
  package mutating func insert(_ entry: LiveEntry) -> Int {
    var (place, isFound) = place(of: entry.sortKey)
    precondition(!isFound, "a document is there once")
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

  /// The index that it had, or nil if there is no such key.
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

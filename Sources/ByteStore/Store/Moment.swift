// Reading by ordinal, at one moment.
//
// A moment is a frozen table: it costs its reader a few references, and the next commit the pages that it
// changes. Unlike a snapshot it is not counted anywhere, unless there is a lease for it: most last as long as one
// call.

/// The entries of a store as of one commit.
package final class Moment: Sendable {
  /// The last commit that it sees.
  package let sequence: SequenceNumber
  /// The largest stamp of all that it sees; 0 before the first commit.
  package let stamp: UInt64
  private let frozen: SharedTable
  /// What is read for the frozen table is of use to the store's own as well.
  private let live: SharedTable

  init(_ table: Table, live: SharedTable, path: String) {
    sequence = table.published
    stamp = table.lastStamp
    frozen = SharedTable(table, live.cache, path: path)
    self.live = live
  }

  /// For reads that go on for a while. It is given back at the end.
  package func takeBuffer() -> PooledBuffer { live.buffers.take() }

  package func giveBack(_ pooled: PooledBuffer) { live.buffers.giveBack(pooled) }

  /// The key and the value of an ordinal into `buffer`; false if it has none.
  package func read(
    _ ordinal: UInt32, into buffer: inout ReadBuffer
  ) throws(ByteStoreError) -> Bool {
    while true {
      switch frozen.withTable({ $0.look(up: ordinal) }) {
      case .absent:
        return false
      case .missing(let page):
        try frozen.load(page, alsoInto: live)
      case .inTail(let commit, let offset):
        buffer.fill(with: commit, putAt: offset)
        return true
      case .inSegment(let segment, let location):
        try segment.read(location, frozen.cache, into: &buffer)
        guard buffer.splitEntry() else { throw segment.badEntry(location, try segment.open()) }
        return true
      }
    }
  }

  /// The key and the value of a key into `buffer`; false if it is not there.
  package func read(_ key: [UInt8], into buffer: inout ReadBuffer) throws(ByteStoreError) -> Bool {
    guard let ordinal = try frozen.ordinal(of: key, into: &buffer) else { return false }
    return try read(ordinal, into: &buffer)
  }

  /// Hands over every key with its ordinal and value, in the order in which they lie on disk.
  package func forEach(
    _ body: (_ ordinal: UInt32, _ key: RawSpan, _ value: RawSpan) throws(ByteStoreError) -> Void
  ) throws(ByteStoreError) {
    try frozen.forEachEntry(body)
  }
}

extension Table {
  enum Entry {
    case absent
    /// A page has to be loaded first.
    case missing(PageAddress)
    case inTail(CommitBody, offset: Int)
    case inSegment(Segment, Location)
  }

  /// Where the bytes of an ordinal are.
  func look(up ordinal: UInt32) -> Entry {
    guard ordinal < ordinals else { return .absent }
    guard locations.isLoaded(wordAt: Int(ordinal)) else {
      return .missing(.locations(Int(ordinal) / PagedWords.wordsPerPage))
    }
    let location = location(of: ordinal)
    switch location.place {
    case .none: return .absent
    case .tail(let body, let offset): return .inTail(tail[body], offset: offset)
    case .entry(let slot, _, _, _), .run(let slot, _, _):
      return segments[slot].map { .inSegment($0.segment, location) } ?? .absent
    }
  }
}

// Keys of indexes in the order of a query, one after the other.
//
// A stream gives what keys have behind their prefix, for that is what tells their order, and the ordinals of
// their documents. All streams of a plan go in the same direction and can be compared by these ends.
//
// Streams keep the bytes of an entry in arrays that the next one takes over: to go on allocates nothing, as long as
// nobody else holds such an array (campaign borrowed).

import ByteStore

protocol EntryStream: AnyObject {
  /// Of the last entry.
  var end: [UInt8] { get }
  var ordinal: UInt32 { get }
  /// Goes on; false if there is nothing more.
  func next() throws(DocumentStoreError) -> Bool
  /// Goes on to the first entry that is not before `end`; false if there is none. Never goes back.
  func seek(_ end: [UInt8]) throws(DocumentStoreError) -> Bool
}

/// The order in which the streams of a plan go.
struct StreamContext {
  let isBackward: Bool

  /// Whether an end comes before another one on the way.
  func precedes(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    isBackward ? right.precedes(left) : left.precedes(right)
  }
}

/// The keys of one index in the ranges of an access.
final class IndexStream: EntryStream {
  private struct Entry {
    var key: [UInt8]
    var ordinal: UInt32
  }

  private let tree: OrderedIndex
  private let access: QueryPlan.Access
  private let context: StreamContext
  /// All keys that a document has in this index, for keys that are longer than trees have them. Nil if it has none.
  private let keys: (_ ordinal: UInt32) throws(DocumentStoreError) -> [[UInt8]]?
  /// Of a collection's names: what lies deeper is passed over.
  private let isCollectionOfNames: Bool
  private var ranges: ArraySlice<ByteRange>
  private var range: ByteRange?
  private var cursor: OrderedIndexCursor?
  /// Of the entry that the cursor has passed last.
  private var key: [UInt8] = []
  private var keyOrdinal: UInt32 = 0
  /// The bytes that all keys of the access begin with.
  private let prefix: ArraySlice<UInt8>
  /// Where a seek leads to.
  private var sought: [UInt8] = []
  /// Entries that were put in order already, the next one last.
  private var pending: [Entry] = []
  private(set) var end: [UInt8] = []
  private(set) var ordinal: UInt32 = 0
  private(set) var entriesRead = 0
  private(set) var longKeysRead = 0
  private(set) var nestedPassedOver = 0

  init(
    _ tree: OrderedIndex, _ access: QueryPlan.Access, isCollectionOfNames: Bool, _ context: StreamContext,
    keys: @escaping (_ ordinal: UInt32) throws(DocumentStoreError) -> [[UInt8]]?
  ) {
    self.tree = tree
    self.access = access
    self.context = context
    self.keys = keys
    self.isCollectionOfNames = isCollectionOfNames
    ranges = access.ranges[...]
    prefix = access.ranges.first?.lower.prefix(access.prefixBytes) ?? []
  }

  func next() throws(DocumentStoreError) -> Bool {
    while true {
      if let entry = pending.popLast() {
        take(entry.key, entry.ordinal)
        return true
      }
      guard try step() else {
        guard try openNextRange() else { return false }
        continue
      }
      entriesRead += 1
      if StoredKey.isLong(key.rawSpan) {
        try sortLong()
        continue
      }
      if isCollectionOfNames, try skipsNested() { continue }
      take(key, keyOrdinal)
      return true
    }
  }

  func seek(_ end: [UInt8]) throws(DocumentStoreError) -> Bool {
    sought.removeAll(keepingCapacity: true)
    sought.append(contentsOf: prefix)
    sought.append(contentsOf: end.dropFirst(access.endPrefix.count))
    if isCollectionOfNames { sought.append(0) }
    while let entry = pending.popLast() {
      guard context.precedes(entry.key, sought) else {
        take(entry.key, entry.ordinal)
        return true
      }
    }
    // Ranges that end before it are passed over.
    while range.map({ isBehind($0, sought) }) ?? true {
      guard try openNextRange() else { return false }
    }
    let target = StoredKey.start(of: sought)
    if context.isBackward {
      // Behind the key itself, or behind all that begin like one that is longer.
      let bound = target.count < sought.count ? target.behindAllWithPrefix ?? target : target
      try cursor?.seekBackward(to: bound, through: target.count == sought.count)
    } else {
      try cursor?.seekForward(to: target)
    }
    while try next() {
      if !context.precedes(self.end, end) { return true }
    }
    return false
  }

  /// Whether all of a range comes before a key on the way.
  private func isBehind(_ range: ByteRange, _ key: [UInt8]) -> Bool {
    context.isBackward ? key.precedes(range.lower) : range.upper.map { !key.precedes($0) } ?? false
  }

  private func take(_ key: [UInt8], _ ordinal: UInt32) {
    end.removeAll(keepingCapacity: true)
    end.append(contentsOf: access.endPrefix)
    end.append(contentsOf: key.dropFirst(access.prefixBytes))
    // Names of a collection end like those in its other indexes.
    if isCollectionOfNames { end.removeLast() }
    self.ordinal = ordinal
  }

  // MARK: The tree

  private func openNextRange() throws(DocumentStoreError) -> Bool {
    guard let next = context.isBackward ? ranges.popLast() : ranges.popFirst() else {
      range = nil
      cursor = nil
      return false
    }
    range = next
    cursor = try tree.cursor(over: next.inTree)
    if context.isBackward { cursor?.seekToEnd() }
    return true
  }

  private func step() throws(DocumentStoreError) -> Bool {
    let hasMore = try context.isBackward ? cursor?.previous() : cursor?.next()
    guard hasMore == true, let ordinal = cursor?.ordinal else { return false }
    cursor?.copyKey(to: &key)
    keyOrdinal = ordinal
    return true
  }

  /// Whether the key is of a document below the collection's own; then the stream stands behind it.
  private func skipsNested() throws(DocumentStoreError) -> Bool {
    let key = key
    let end = key.rawSpan.extracting(droppingFirst: access.prefixBytes)
    guard let bytes = DocumentKey.segmentBytes(end), end.byteCount > bytes + 1 else { return false }
    nestedPassedOver += 1
    let sibling = Array(key.prefix(access.prefixBytes + bytes))
    if context.isBackward {
      // The document itself comes before what lies below it.
      try cursor?.seekBackward(to: sibling + [0], through: true)
    } else if let behind = sibling.behindAllWithPrefix {
      try cursor?.seekForward(to: behind)
    }
    return true
  }

  // MARK: Long keys

  /// Reads all keys that begin like the one that the cursor has passed, and puts them in the order that their documents
  /// tell.
  private func sortLong() throws(DocumentStoreError) {
    let start = key.prefix(StoredKey.keptBytes)
    var entries: [Entry] = []
    var hasNext = true
    while hasNext {
      let entry = Entry(key: key, ordinal: keyOrdinal)
      guard StoredKey.isLong(entry.key.rawSpan), entry.key.starts(with: start) else {
        // One step too far: a cursor can go back.
        if context.isBackward { _ = try cursor?.next() } else { _ = try cursor?.previous() }
        break
      }
      entriesRead += 1
      longKeysRead += 1
      if let key = try longKey(of: entry), range?.contains(key) == true {
        if !(isCollectionOfNames && isNested(key)) { entries.append(Entry(key: key, ordinal: entry.ordinal)) }
      }
      hasNext = try step()
    }
    pending = entries.sorted { context.precedes($1.key, $0.key) }
  }

  private func longKey(of entry: Entry) throws(DocumentStoreError) -> [UInt8]? {
    try keys(entry.ordinal)?.first { StoredKey.of($0) == entry.key }
  }

  private func isNested(_ key: [UInt8]) -> Bool {
    let end = key.rawSpan.extracting(droppingFirst: access.prefixBytes)
    return DocumentKey.segmentBytes(end).map { end.byteCount > $0 + 1 } ?? false
  }
}

extension OrderedIndexCursor {
  mutating func copyKey() -> [UInt8] { Array(copying: key()) }

  /// In the place of what is there.
  mutating func copyKey(to array: inout [UInt8]) {
    array.removeAll(keepingCapacity: true)
    array.append(copying: key())
  }

  /// Before the first key from `bound` on, unless it is there or behind it already.
  mutating func seekForward(to bound: [UInt8]) throws(DocumentStoreError) {
    let here = position
    try seek(bound.rawSpan)
    if position < here { seek(toRank: here) }
  }

  /// Behind the last key before `bound`, or `bound` itself, unless it is there or before it already.
  mutating func seekBackward(to bound: [UInt8], through: Bool) throws(DocumentStoreError) {
    let here = position
    try seek(bound.rawSpan, behind: through)
    if position > here { seek(toRank: here) }
  }
}

/// What is in all of several streams.
final class JoinedStream: EntryStream {
  private let streams: [any EntryStream]
  private let context: StreamContext

  init(_ streams: [any EntryStream], _ context: StreamContext) {
    self.streams = streams
    self.context = context
  }

  var end: [UInt8] { streams[0].end }
  var ordinal: UInt32 { streams[0].ordinal }

  func next() throws(DocumentStoreError) -> Bool {
    guard try streams[0].next() else { return false }
    return try align()
  }

  func seek(_ end: [UInt8]) throws(DocumentStoreError) -> Bool {
    guard try streams[0].seek(end) else { return false }
    return try align()
  }

  /// Each goes on to where the furthest is, until all are at one place.
  private func align() throws(DocumentStoreError) -> Bool {
    var target = streams[0].end
    var agreeing = 1
    var index = 1
    while agreeing < streams.count {
      let stream = streams[index % streams.count]
      if stream.end.isEmpty || context.precedes(stream.end, target) {
        guard try stream.seek(target) else { return false }
      }
      if stream.end == target {
        agreeing += 1
      } else {
        target = stream.end
        agreeing = 1
      }
      index += 1
    }
    return true
  }
}

/// What is in any of several streams, each once.
final class MergedStream: EntryStream {
  private var streams: [any EntryStream]
  private let context: StreamContext
  private var hasStarted = false
  private(set) var end: [UInt8] = []
  private(set) var ordinal: UInt32 = 0

  init(_ streams: [any EntryStream], _ context: StreamContext) {
    self.streams = streams
    self.context = context
  }

  func next() throws(DocumentStoreError) -> Bool {
    var index = 0
    while index < streams.count {
      // Those at the last entry go on; the others wait for their turn.
      if hasStarted, streams[index].end != end {
        index += 1
      } else if try streams[index].next() {
        index += 1
      } else {
        streams.remove(at: index)
      }
    }
    hasStarted = true
    return take()
  }

  func seek(_ end: [UInt8]) throws(DocumentStoreError) -> Bool {
    var open: [any EntryStream] = []
    for stream in streams where try stream.seek(end) { open.append(stream) }
    hasStarted = true
    streams = open
    return take()
  }

  private func take() -> Bool {
    guard var first = streams.first else { return false }
    for stream in streams.dropFirst() where context.precedes(stream.end, first.end) { first = stream }
    end.removeAll(keepingCapacity: true)
    end.append(contentsOf: first.end)
    ordinal = first.ordinal
    return true
  }
}

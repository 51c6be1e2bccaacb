// Streams of index entries in query order.
//
// For each entry, a stream yields the document's ordinal and the end of the key, which is the part after the
// prefix. The key ends determine the order. All streams of a plan run in one direction, so the key ends of
// different streams are comparable.
//
// Streams copy each entry into arrays that they reuse. A step does not allocate, unless another owner shares
// such an array (test campaign `borrowed`).

import ByteStore

protocol EntryStream: AnyObject {
  /// The current entry's key after the prefix.
  var end: [UInt8] { get }
  var ordinal: UInt32 { get }
  /// Advances to the next entry; false at the end.
  func next() throws(DocumentStoreError) -> Bool
  /// Advances to the first entry that is not before `end`; false if there is none. Never moves back.
  func seek(_ end: [UInt8]) throws(DocumentStoreError) -> Bool
}

/// The direction in which the streams of a plan run.
struct StreamContext {
  let isBackward: Bool

  /// Returns whether one key end comes before another in this direction.
  func precedes(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    isBackward ? right.precedes(left) : left.precedes(right)
  }
}

/// The entries of one index within the ranges of an access.
final class IndexStream: EntryStream {
  private struct Entry {
    var key: [UInt8]
    var ordinal: UInt32
  }

  private let tree: OrderedIndex
  private let access: QueryPlan.Access
  private let context: StreamContext
  /// Returns all keys that the document has in this index, or nil if the document does not exist. Called for
  /// keys that the tree stores truncated.
  private let keys: (_ ordinal: UInt32) throws(DocumentStoreError) -> [[UInt8]]?
  /// True if the stream reads the names of a single collection. Documents in subcollections are then skipped.
  private let isCollectionOfNames: Bool
  private var ranges: ArraySlice<ByteRange>
  private var range: ByteRange?
  private var cursor: OrderedIndexCursor?
  /// Key of the entry that the cursor passed last.
  private var key: [UInt8] = []
  private var keyOrdinal: UInt32 = 0
  /// The common prefix of all keys of the access.
  private let prefix: ArraySlice<UInt8>
  /// The target of a seek; kept to avoid allocation.
  private var seekTarget: [UInt8] = []
  /// Sorted entries with long keys, in reverse, so that the next one is last.
  private var pending: [Entry] = []
  private(set) var end: [UInt8] = []
  private(set) var ordinal: UInt32 = 0
  private(set) var entriesRead = 0
  private(set) var longKeysRead = 0
  private(set) var nestedSkips = 0

  init(
    _ tree: OrderedIndex, _ access: QueryPlan.Access, isCollectionOfNames: Bool, context: StreamContext,
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
    seekTarget.removeAll(keepingCapacity: true)
    seekTarget.append(contentsOf: prefix)
    seekTarget.append(contentsOf: end.dropFirst(access.endPrefix.count))
    if isCollectionOfNames { seekTarget.append(0) }
    while let entry = pending.popLast() {
      guard context.precedes(entry.key, seekTarget) else {
        take(entry.key, entry.ordinal)
        return true
      }
    }
    // Skip ranges that end before the target.
    while range.map({ endsBefore($0, seekTarget) }) ?? true {
      guard try openNextRange() else { return false }
    }
    let target = StoredKey.start(of: seekTarget)
    if context.isBackward {
      // Seeks to the position after the key. For a truncated target, seeks to the position after all keys
      // with that prefix.
      let bound = target.count < seekTarget.count ? target.prefixSuccessor ?? target : target
      try cursor?.seekBackward(to: bound, through: target.count == seekTarget.count)
    } else {
      try cursor?.seekForward(to: target)
    }
    while try next() {
      if !context.precedes(self.end, end) { return true }
    }
    return false
  }

  /// Returns whether the whole range comes before the key in this direction.
  private func endsBefore(_ range: ByteRange, _ key: [UInt8]) -> Bool {
    context.isBackward ? key.precedes(range.lower) : range.upper.map { !key.precedes($0) } ?? false
  }

  private func take(_ key: [UInt8], _ ordinal: UInt32) {
    end.removeAll(keepingCapacity: true)
    end.append(contentsOf: access.endPrefix)
    end.append(contentsOf: key.dropFirst(access.prefixBytes))
    // Removes the end marker, so that a collection's names end like the keys of its other indexes.
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
    cursor = try tree.cursor(over: next.inTree, fromEnd: context.isBackward)
    return true
  }

  private func step() throws(DocumentStoreError) -> Bool {
    let hasMore = try context.isBackward ? cursor?.previous() : cursor?.next()
    guard hasMore == true, let ordinal = cursor?.ordinal else { return false }
    cursor?.copyKey(to: &key)
    keyOrdinal = ordinal
    return true
  }

  /// If the key belongs to a document in a subcollection, skips all documents below the same parent document
  /// and returns true.
  private func skipsNested() throws(DocumentStoreError) -> Bool {
    let key = key
    let end = key.rawSpan.extracting(droppingFirst: access.prefixBytes)
    guard let bytes = DocumentKey.segmentBytes(end), end.byteCount > bytes + 1 else { return false }
    nestedSkips += 1
    let sibling = Array(key.prefix(access.prefixBytes + bytes))
    if context.isBackward {
      // A document sorts before the documents in its subcollections.
      try cursor?.seekBackward(to: sibling + [0], through: true)
    } else if let behind = sibling.prefixSuccessor {
      try cursor?.seekForward(to: behind)
    }
    return true
  }

  // MARK: Long keys

  /// Reads all truncated keys that share the current prefix, and sorts them by the full keys of their
  /// documents.
  private func sortLong() throws(DocumentStoreError) {
    let start = key.prefix(StoredKey.keptBytes)
    var entries: [Entry] = []
    var hasNext = true
    while hasNext {
      let entry = Entry(key: key, ordinal: keyOrdinal)
      guard StoredKey.isLong(entry.key.rawSpan), entry.key.starts(with: start) else {
        // The cursor is one entry too far; move it back.
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

  /// Replaces the array's content and reuses its storage.
  mutating func copyKey(to array: inout [UInt8]) {
    array.removeAll(keepingCapacity: true)
    array.append(copying: key())
  }

  /// Moves to the first key that is not before `bound`. Never moves back.
  mutating func seekForward(to bound: [UInt8]) throws(DocumentStoreError) {
    let here = position
    try seek(bound.rawSpan)
    if position < here { seek(toRank: here) }
  }

  /// Moves to the position after the last key before `bound`, or after `bound` itself if `through` is true.
  /// Never moves forward.
  mutating func seekBackward(to bound: [UInt8], through: Bool) throws(DocumentStoreError) {
    let here = position
    try seek(bound.rawSpan, behind: through)
    if position > here { seek(toRank: here) }
  }
}

/// Intersection of several streams.
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

  /// Seeks the streams to the furthest position among them, until all are at the same entry.
  private func align() throws(DocumentStoreError) -> Bool {
    var target = streams[0].end
    var alignedCount = 1
    var index = 1
    while alignedCount < streams.count {
      let stream = streams[index % streams.count]
      if stream.end.isEmpty || context.precedes(stream.end, target) {
        guard try stream.seek(target) else { return false }
      }
      if stream.end == target {
        alignedCount += 1
      } else {
        target = stream.end
        alignedCount = 1
      }
      index += 1
    }
    return true
  }
}

/// Union of several streams, without duplicates.
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
      // Streams whose current entry was returned last advance. The other streams keep their entries.
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

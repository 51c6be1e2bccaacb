// The encoded form of a commit: its batch, which consists of three kinds of operations.
//
//   1. the definitions of shapes that the records need (ShapeDictionary)
//   2. a put or a removal for each changed document
//   3. an entry of the change feed and the new state of the feed, if the feed has a reader
//
// The apply step expects the ordinals of the shapes first and then those of the documents.

import ByteStore

struct CommitEncoder {
  /// The encoded form of a commit.
  struct Encoded {
    var batch: Batch
    /// Ids of the shapes that the batch defines.
    var shapes: [Int] = []
    /// The size of the commit's feed entry; nil if it has no feed entry.
    var feedBytes: Int?
  }

  private typealias Put = (key: [UInt8], value: [UInt8])

  let shapes: ShapeDictionary
  let time: StoredTimestamp

  /// Encodes the changes. Afterwards the fields of the new documents are the records in the batch, except
  /// fields beyond the limits of documents, which cannot be decoded.
  func encode(
    _ changes: inout [CommitChange], feed: inout FeedLedger
  ) throws(ByteStoreError) -> Encoded {
    var bytes = 0
    for place in changes.indices {
      let recordBytes = encodeFields(&changes[place])
      changes[place].recordBytes = recordBytes ?? 0
      let key = changes[place].key
      bytes += recordBytes.map { Batch.bytes(ofPutOf: $0, for: key) } ?? Batch.bytes(ofRemovalOf: key)
      // Small mutations of large documents can exceed the size limit of a commit. The encoding stops as
      // soon as they do.
      try Batch.check(bytes: bytes)
    }
    let due = definitionsDue(for: changes)
    let definitions: [Put] = due.map { (Shape.key($0.id), $0.definition) }
    let entry = feedEntry(changes, feed: &feed)
    for put in definitions + entry { bytes += Batch.bytes(ofPutOf: put.value.count, for: put.key) }
    var batch = Batch(stamp: UInt64(bitPattern: time.microseconds), bytes: bytes)
    for (key, value) in definitions { try batch.put(value, for: key) }
    try add(changes, to: &batch)
    for (key, value) in entry { try batch.put(value, for: key) }
    return Encoded(batch: batch, shapes: due.map(\.id), feedBytes: entry.first?.value.count)
  }

  /// Encodes the fields of the new document unless they are encoded already. Returns the size of its record;
  /// nil if there is no new document.
  private func encodeFields(_ change: inout CommitChange) -> Int? {
    guard let after = change.after else { return nil }
    let head = RecordHead.bytes(after.createTime, after.updateTime)
    let record = FieldsEncoder.record(of: after.fields, shapes: shapes)
    if record.checkedSize != nil, after.fields.encoded == nil {
      change.after = StoredDocument(
        path: after.path, createTime: after.createTime, updateTime: after.updateTime,
        fields: StoredMap(record))
    }
    return head + record.bytes.count - record.fieldsStart
  }

  private func add(_ changes: [CommitChange], to batch: inout Batch) throws(ByteStoreError) {
    var head = RecordHead()
    for place in changes.indices {
      let (key, lookup) = (changes[place].key, changes[place].lookup)
      guard let after = changes[place].after else {
        try batch.remove(key, lookup: lookup)
        continue
      }
      let record = FieldsEncoder.record(of: after.fields, shapes: shapes)
      head.set(after.createTime, after.updateTime)
      let bytes = record.bytes
      try batch.put(
        head: head.bytes.rawSpan, body: bytes.rawSpan.extracting(droppingFirst: record.fieldsStart), for: key,
        lookup: lookup)
    }
  }

  /// The shapes of the new records that the commit must define.
  private func definitionsDue(for changes: [CommitChange]) -> [Shape] {
    guard shapes.isDefinitionDue else { return [] }
    var used = Set<Int>()
    for change in changes {
      guard let after = change.after else { continue }
      FieldsEncoder.record(of: after.fields, shapes: shapes).collectShapes(into: &used)
    }
    return shapes.definitionsDue(for: used)
  }

  /// The commit's entry in the change feed and the new state of the feed. Empty if the feed is inactive or if
  /// only reserved documents change.
  private func feedEntry(_ changes: [CommitChange], feed: inout FeedLedger) -> [Put] {
    guard feed.isActive else { return [] }
    var entries: [FeedFormat.Change] = []
    var head = RecordHead()
    // Reserved documents are not part of the feed.
    for change in changes where !change.path.isReserved {
      var entry: FeedFormat.Change = (change.key, nil)
      if let after = change.after {
        let record = FieldsEncoder.record(of: after.fields, shapes: shapes)
        head.set(after.createTime, after.updateTime)
        entry.record = head.bytes + record.bytes[record.fieldsStart...]
      }
      entries.append(entry)
    }
    guard !entries.isEmpty else { return [] }
    let entry = FeedFormat.encode(entries, at: time)
    let key = FeedFormat.key(feed.add(bytes: entry.count))
    return [(key, entry), (FeedFormat.stateKey, feed.state)]
  }
}

/// The head of a record, kept for the next record, because most documents of a commit have equal times.
private struct RecordHead {
  private(set) var bytes: [UInt8] = []
  private var times: (created: StoredTimestamp, updated: StoredTimestamp)?

  /// The size of a head with these times.
  static func bytes(_ created: StoredTimestamp, _ updated: StoredTimestamp) -> Int {
    guard created != updated else { return 9 }
    let difference = Zigzag.encode(updated.microseconds - created.microseconds)
    return 9 + (UInt64.bitWidth - difference.leadingZeroBitCount + 6) / 7
  }

  mutating func set(_ created: StoredTimestamp, _ updated: StoredTimestamp) {
    if let times, times == (created, updated) { return }
    times = (created, updated)
    bytes.removeAll(keepingCapacity: true)
    bytes.appendHead(created: created, updated: updated)
  }
}

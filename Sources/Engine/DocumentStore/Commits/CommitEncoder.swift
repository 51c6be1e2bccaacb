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
    var records: [CheckedRecord?] = []
    var bytes = try encodeFields(&changes, &records)
    let due = definitionsDue(for: records)
    let definitions: [Put] = due.map { (Shape.key($0.id), $0.definition) }
    let entry = feedEntry(changes, records, feed: &feed)
    for put in definitions { bytes += Batch.bytes(ofPutOf: put.value.count, for: put.key) }
    for put in entry { bytes += Batch.bytes(ofPutOf: put.value.count, for: put.key) }
    var batch = Batch(stamp: UInt64(bitPattern: time.microseconds), bytes: bytes)
    for (key, value) in definitions { try batch.put(value, for: key) }
    try add(changes, records, to: &batch)
    for (key, value) in entry { try batch.put(value, for: key) }
    return Encoded(batch: batch, shapes: due.map(\.id), feedBytes: entry.first?.value.count)
  }

  /// Encodes the fields of the new documents unless they are encoded already. Returns the size of the
  /// operations. `records` gets the record of each change, which is nil if there is no new document.
  private func encodeFields(
    _ changes: inout [CommitChange], _ records: inout [CheckedRecord?]
  ) throws(ByteStoreError) -> Int {
    records.reserveCapacity(changes.count)
    // Use a buffer pointer, because each access to an array element would retain the document.
    return try unsafe changes.withUnsafeMutableBufferPointer { changes throws(ByteStoreError) in
      var bytes = 0
      for place in changes.indices {
        let record = unsafe encodeFields(&changes[place])
        let recordBytes = unsafe changes[place].recordBytes
        unsafe bytes +=
          record == nil
          ? Batch.bytes(ofRemovalOf: changes[place].key)
          : Batch.bytes(ofPutOf: recordBytes, for: changes[place].key)
        // Small mutations of large documents can exceed the size limit of a commit. The encoding stops as
        // soon as they do.
        try Batch.check(bytes: bytes)
        records.append(record)
      }
      return bytes
    }
  }

  /// Encodes the fields of the new document unless they are encoded already. Returns their record; nil if
  /// there is no new document.
  private func encodeFields(_ change: inout CommitChange) -> CheckedRecord? {
    guard let fields = change.after?.fields, let times = change.timesAfter else {
      change.recordBytes = 0
      return nil
    }
    let record = FieldsEncoder.record(of: fields, shapes: shapes)
    let head = RecordHead.bytes(times.created, times.updated)
    change.recordBytes = head + record.bytes.count - record.fieldsStart
    if !fields.isEncoded, record.checkedSize != nil {
      change.after = StoredDocument(
        path: change.path, createTime: times.created, updateTime: times.updated, fields: StoredMap(record))
    }
    return record
  }

  private func add(
    _ changes: [CommitChange], _ records: [CheckedRecord?], to batch: inout Batch
  ) throws(ByteStoreError) {
    try unsafe changes.withUnsafeBufferPointer { changes throws(ByteStoreError) in
      for place in changes.indices {
        let lookup = unsafe changes[place].lookup
        guard let record = records[place], let times = unsafe changes[place].timesAfter else {
          try unsafe batch.remove(changes[place].key, lookup: lookup)
          continue
        }
        let head = RecordHead(created: times.created, updated: times.updated)
        try head.withSpan { head throws(ByteStoreError) in
          try unsafe batch.put(head: head, record: record, for: changes[place].key, lookup: lookup)
        }
      }
    }
  }

  /// The shapes of the new records that the commit must define.
  private func definitionsDue(for records: [CheckedRecord?]) -> [Shape] {
    guard shapes.isDefinitionDue else { return [] }
    var used = Set<Int>()
    for record in records { record?.collectShapes(into: &used) }
    return shapes.definitionsDue(for: used)
  }

  /// The commit's entry in the change feed and the new state of the feed. Empty if the feed is inactive or if
  /// only reserved documents change.
  private func feedEntry(
    _ changes: [CommitChange], _ records: [CheckedRecord?], feed: inout FeedLedger
  ) -> [Put] {
    guard feed.isActive else { return [] }
    var entries: [FeedFormat.Change] = []
    for place in changes.indices {
      let change = changes[place]
      // Reserved documents are not part of the feed.
      guard !change.path.isReserved else { continue }
      var entry: FeedFormat.Change = (change.key, nil)
      if let record = records[place], let times = change.timesAfter {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(change.recordBytes)
        bytes.appendHead(created: times.created, updated: times.updated)
        bytes += record.bytes[record.fieldsStart...]
        entry.record = bytes
      }
      entries.append(entry)
    }
    guard !entries.isEmpty else { return [] }
    let entry = FeedFormat.encode(entries, at: time)
    let key = FeedFormat.key(feed.add(bytes: entry.count))
    return [(key, entry), (FeedFormat.stateKey, feed.state)]
  }
}

extension CommitChange {
  fileprivate struct Times {
    var created: StoredTimestamp
    var updated: StoredTimestamp
  }

  /// The times of the new document.
  fileprivate var timesAfter: Times? {
    guard let created = after?.createTime, let updated = after?.updateTime else { return nil }
    return Times(created: created, updated: updated)
  }
}

extension Batch {
  /// Puts a record with another head.
  fileprivate mutating func put(
    head: RawSpan, record: CheckedRecord, for key: [UInt8], lookup: KeyLookup
  ) throws(ByteStoreError) {
    let bytes = record.bytes
    try put(
      head: head, body: bytes.rawSpan.extracting(droppingFirst: record.fieldsStart), for: key,
      lookup: lookup)
  }
}

/// The head of a record.
private struct RecordHead {
  // As many bytes as the largest head has, and more.
  private var words: (UInt64, UInt64, UInt64) = (0, 0, 0)
  private var count = 9

  init(created: StoredTimestamp, updated: StoredTimestamp) {
    let difference = updated.microseconds - created.microseconds
    let time = UInt64(bitPattern: created.microseconds)
    let form = difference == 0 ? RecordCodec.unchangedForm : RecordCodec.changedForm
    words.0 = (UInt64(form) | time << 8).littleEndian
    words.1 = (time >> 56).littleEndian
    guard difference != 0 else { return }
    var rest = Zigzag.encode(difference)
    unsafe withUnsafeMutableBytes(of: &words) { bytes in
      while rest >= 0x80 {
        unsafe bytes[count] = UInt8(truncatingIfNeeded: rest) | 0x80
        count += 1
        rest >>= 7
      }
      unsafe bytes[count] = UInt8(rest)
      count += 1
    }
  }

  /// The size of a head with these times.
  static func bytes(_ created: StoredTimestamp, _ updated: StoredTimestamp) -> Int {
    guard created != updated else { return 9 }
    let difference = Zigzag.encode(updated.microseconds - created.microseconds)
    return 9 + (UInt64.bitWidth - difference.leadingZeroBitCount + 6) / 7
  }

  func withSpan<Failure: Error>(_ body: (RawSpan) throws(Failure) -> Void) throws(Failure) {
    try unsafe withUnsafeBytes(of: words) { bytes throws(Failure) in
      try body(unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer(rebasing: bytes[..<count])))
    }
  }
}

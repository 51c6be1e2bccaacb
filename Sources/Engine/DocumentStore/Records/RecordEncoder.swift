// Encodes documents as records, and collects the shapes that the records of a commit use.

import ByteStore

struct RecordEncoder: ~Copyable {
  private var writer = RecordWriter()
  /// The records so far, one after another.
  private(set) var bytes: [UInt8]
  /// The shapes of all records so far.
  private(set) var used: Set<Int> = []

  /// `room` is the buffer for the records. The encoder of the next commit can reuse it.
  init(shapes: ShapeDictionary?, room: consuming [UInt8] = []) {
    writer.shapes = shapes
    writer.trackShapes()
    bytes = room
    bytes.removeAll(keepingCapacity: true)
    // Most records fit in this capacity, so the buffer need not grow step by step.
    bytes.reserveCapacity(512)
  }

  /// Appends the record of a document. Returns its range in `bytes`.
  mutating func append(_ document: StoredDocument) -> Range<Int> {
    append(createTime: document.createTime, updateTime: document.updateTime, fields: document.fields)
  }

  mutating func append(
    createTime: StoredTimestamp, updateTime: StoredTimestamp, fields: StoredMap
  ) -> Range<Int> {
    let start = bytes.count
    bytes.appendHead(created: createTime, updated: updateTime)
    writer.record(of: fields)
    writer.bytes.withSpan(from: RecordWriter.headBytes) { bytes.append(copying: $0) }
    used.formUnion(writer.takeUsedShapes())
    return start..<bytes.count
  }

  /// Appends a value with its tag. Returns its range in `bytes`.
  mutating func append(value: StoredValue) -> Range<Int> {
    let start = bytes.count
    _ = writer.begin()
    writer.value(value)
    writer.bytes.withSpan(from: RecordWriter.headBytes) { bytes.append(copying: $0) }
    used.formUnion(writer.takeUsedShapes())
    return start..<bytes.count
  }
}

extension [UInt8] {
  /// Appends the head of a record.
  mutating func appendHead(created: StoredTimestamp, updated: StoredTimestamp) {
    let difference = updated.microseconds - created.microseconds
    append(difference == 0 ? RecordCodec.unchangedForm : RecordCodec.changedForm)
    append(littleEndian: created.microseconds)
    if difference != 0 { append(varint: Zigzag.encode(difference)) }
  }
}

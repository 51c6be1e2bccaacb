// The binary encoding of a batch.
//
//   batch     := form:u8=1 id:i64 run:u64 time:i64 count:varint mutation{count} count:varint mutation{count}
//                                                       the base first, then the mutations
//   mutation  := kind:u8 precondition path fields mask transforms
//   kind      := 0 set | 1 patch | 2 delete | 3 verify
//   precondition := 0 | 1 exists | 2 exists not | 3 time:i64
//   path, mask entry := count:varint text{count}
//   fields    := bytes                                  a record without shapes
//   mask      := count:varint (count:varint text{count}){count}
//   transforms := count:varint (count:varint text{count} operation){count}
//   operation := 0 | (1...3 | 4 | 5) bytes              a record with the operand in the field "v"
//   text, bytes := size:varint byte{size}
//
// A precondition with time 0 is `afterPendingWrites`, one with time -1 is `impossible`
// (`PendingPrecondition.encoded`). A verification in the base is the ground (PendingBatch+Following).
// Integers are little-endian. Form 0 had no run; it is decoded as run 0.

package import ByteStore
package import DocumentStore

package enum BatchCodec {
  private static let form: UInt8 = 1
  private static let formWithoutRun: UInt8 = 0

  // MARK: Encoding

  static func encode(_ batch: PendingBatch) -> [UInt8] {
    var bytes: [UInt8] = [form]
    bytes.append(littleEndian: batch.id.value)
    bytes.append(littleEndian: batch.run.value)
    bytes.append(littleEndian: batch.time.microseconds)
    for mutations in [batch.base, batch.mutations] {
      bytes.append(varint: UInt64(mutations.count))
      for mutation in mutations { append(mutation, to: &bytes) }
    }
    return bytes
  }

  /// The encoding of mutations without a batch. Equal mutations have equal encodings.
  package static func encode(_ mutations: [Mutation]) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(varint: UInt64(mutations.count))
    for mutation in mutations { append(PendingMutation(mutation), to: &bytes) }
    return bytes
  }

  private static func append(_ mutation: PendingMutation, to bytes: inout [UInt8]) {
    var fields = StoredMap()
    var mask: [StoredFieldPath] = []
    switch mutation.change {
    case .set(let set, _):
      bytes.append(0)
      fields = set
    case .patch(let values, let masked, _):
      bytes.append(1)
      fields = values
      mask = masked.paths
    case .delete: bytes.append(2)
    case .verify, .place: bytes.append(3)
    }
    switch mutation.precondition.encoded {
    case .none: bytes.append(0)
    case .exists(true): bytes.append(1)
    case .exists(false): bytes.append(2)
    case .updateTime(let time):
      bytes.append(3)
      bytes.append(littleEndian: time.microseconds)
    }
    append(mutation.path.segments, to: &bytes)
    append(fields, to: &bytes)
    bytes.append(varint: UInt64(mask.count))
    for path in mask { append(path.names, to: &bytes) }
    bytes.append(varint: UInt64(mutation.transforms.count))
    for transform in mutation.transforms {
      append(transform.field.names, to: &bytes)
      append(transform.operation, to: &bytes)
    }
  }

  private static func append(_ operation: FieldTransform.Operation, to bytes: inout [UInt8]) {
    switch operation {
    case .serverTimestamp: bytes.append(0)
    case .increment(let number): append(1, number.value, to: &bytes)
    case .minimum(let number): append(2, number.value, to: &bytes)
    case .maximum(let number): append(3, number.value, to: &bytes)
    case .arrayUnion(let elements): append(4, .array(elements), to: &bytes)
    case .arrayRemove(let elements): append(5, .array(elements), to: &bytes)
    }
  }

  private static func append(_ tag: UInt8, _ operand: StoredValue, to bytes: inout [UInt8]) {
    bytes.append(tag)
    append(StoredMap([("v", operand)]), to: &bytes)
  }

  package static func append(_ fields: StoredMap, to bytes: inout [UInt8]) {
    let time = SnapshotVersion.none.timestamp
    let record = StoredDocument(
      path: DocumentPath(unchecked: ["", ""]), createTime: time, updateTime: time, fields: fields
    ).record
    bytes.append(varint: UInt64(record.count))
    bytes += record
  }

  static func append(_ names: [String], to bytes: inout [UInt8]) {
    bytes.append(varint: UInt64(names.count))
    for name in names {
      bytes.append(varint: UInt64(name.utf8.count))
      bytes.append(contentsOf: name.utf8)
    }
  }

  // MARK: Decoding

  /// Returns nil if the bytes are not a valid batch.
  static func decode(_ bytes: [UInt8]) -> PendingBatch? {
    var reader = ByteReader(bytes.rawSpan)
    guard let tag = reader.uint8(), tag == form || tag == formWithoutRun, let id = reader.uint64(),
      let run = tag == form ? reader.uint64() : 0, let time = timestamp(&reader),
      let base = mutations(&reader), let mutations = mutations(&reader), reader.bytesLeft == 0
    else { return nil }
    return PendingBatch(
      id: BatchID(Int64(bitPattern: id)), run: RunID(run), time: time, base: base, mutations: mutations)
  }

  private static func timestamp(_ reader: inout ByteReader) -> StoredTimestamp? {
    reader.uint64().flatMap { StoredTimestamp(microseconds: Int64(bitPattern: $0)) }
  }

  private static func count(_ reader: inout ByteReader) -> Int? {
    guard let count = reader.varint(), count <= UInt64(reader.bytesLeft) else { return nil }
    return Int(count)
  }

  private static func mutations(_ reader: inout ByteReader) -> [PendingMutation]? {
    guard let count = count(&reader) else { return nil }
    var mutations: [PendingMutation] = []
    for _ in 0..<count {
      guard let mutation = mutation(&reader) else { return nil }
      mutations.append(
        PendingMutation(mutation, requiring: PendingPrecondition(encoded: mutation.precondition)))
    }
    return mutations
  }

  private static func mutation(_ reader: inout ByteReader) -> Mutation? {
    guard let kind = reader.uint8(), let precondition = precondition(&reader), let names = names(&reader),
      let path = try? DocumentPath(names), let fields = fields(&reader), let mask = mask(&reader),
      let transforms = transforms(&reader)
    else { return nil }
    switch kind {
    case 0: return .set(path, fields, transforms: transforms, precondition: precondition)
    case 1:
      return .patch(
        path, fields, mask: FieldMask(mask), transforms: transforms, precondition: precondition)
    case 2: return .delete(path, precondition: precondition)
    case 3: return .verify(path, precondition)
    default: return nil
    }
  }

  private static func precondition(_ reader: inout ByteReader) -> Precondition? {
    switch reader.uint8() {
    case 0: Precondition.none
    case 1: .exists(true)
    case 2: .exists(false)
    case 3: timestamp(&reader).map { .updateTime($0) }
    default: nil
    }
  }

  static func names(_ reader: inout ByteReader) -> [String]? {
    guard let count = count(&reader) else { return nil }
    var names: [String] = []
    for _ in 0..<count {
      guard let size = self.count(&reader), let bytes = reader.array(size),
        let name = String(validating: bytes, as: UTF8.self)
      else { return nil }
      names.append(name)
    }
    return names
  }

  package static func fields(_ reader: inout ByteReader) -> StoredMap? {
    guard let size = count(&reader), let record = reader.array(size) else { return nil }
    return (try? StoredDocument(path: DocumentPath(unchecked: ["", ""]), record: record))?.fields
  }

  private static func mask(_ reader: inout ByteReader) -> [StoredFieldPath]? {
    guard let count = count(&reader) else { return nil }
    var mask: [StoredFieldPath] = []
    for _ in 0..<count {
      guard let names = names(&reader), let path = try? StoredFieldPath(names) else { return nil }
      mask.append(path)
    }
    return mask
  }

  private static func transforms(_ reader: inout ByteReader) -> [FieldTransform]? {
    guard let count = count(&reader) else { return nil }
    var transforms: [FieldTransform] = []
    for _ in 0..<count {
      guard let names = names(&reader), let field = try? StoredFieldPath(names),
        let operation = operation(&reader)
      else { return nil }
      transforms.append(FieldTransform(field, operation))
    }
    return transforms
  }

  private static func operation(_ reader: inout ByteReader) -> FieldTransform.Operation? {
    guard let tag = reader.uint8() else { return nil }
    if tag == 0 { return .serverTimestamp }
    guard let operand = fields(&reader)?["v"] else { return nil }
    switch (tag, StoredNumber(operand), operand) {
    case (1, let number?, _): return .increment(number)
    case (2, let number?, _): return .minimum(number)
    case (3, let number?, _): return .maximum(number)
    case (4, _, .array(let elements)): return .arrayUnion(elements)
    case (5, _, .array(let elements)): return .arrayRemove(elements)
    default: return nil
    }
  }
}

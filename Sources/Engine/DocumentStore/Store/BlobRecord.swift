// Records of contents: where each content is stored.

package import ByteStore

package enum BlobRecord {
  private static let bytes = "bytes"
  private static let pack = "pack"
  private static let offset = "offset"
  private static let stored = "stored"
  private static let checksum = "checksum"

  package static func path(_ id: BlobID) -> DocumentPath {
    DocumentPath(unchecked: [ReservedPath.blobs, id.description])
  }

  /// Nil for other documents.
  package static func id(_ path: DocumentPath) -> BlobID? {
    path.segments.count == 2 && path.segments[0] == ReservedPath.blobs ? BlobID(path.segments[1]) : nil
  }

  /// The content that a stored entry describes, and where the content is stored; nil for other entries.
  package static func blob(
    _ key: RawSpan, _ record: RawSpan, shapes: ShapeDictionary
  ) -> (id: BlobID, place: BlobLocation)? {
    guard hasKeyPrefix(key), let id = DocumentKey.decode(key).flatMap({ id($0) }),
      let fields = try? RecordCodec.decodeFields(record, shapes.table), let place = place(fields)
    else { return nil }
    return (id, place)
  }

  /// Few keys in a store belong to contents, so check the prefix before decoding.
  private static func hasKeyPrefix(_ key: RawSpan) -> Bool {
    guard key.byteCount > keyPrefix.count else { return false }
    for place in keyPrefix.indices where key.byte(at: place) != keyPrefix[place] { return false }
    return true
  }

  private static let keyPrefix: [UInt8] = {
    var key = [DocumentKey.keyspace]
    DocumentKey.append(ReservedPath.blobs, to: &key)
    return key
  }()

  package static func mutation(_ id: BlobID, at place: BlobLocation) -> Mutation {
    .set(path(id), fields(place))
  }

  package static func fields(_ place: BlobLocation) -> StoredMap {
    let bytes = StoredValue.integer(Int64(clamping: place.byteCount))
    guard case .pack(let number, let offset, let storedBytes, let checksum) = place.home else {
      return StoredMap([(Self.bytes, bytes)])
    }
    return StoredMap([
      (Self.bytes, bytes), (Self.pack, .integer(Int64(clamping: number))),
      (Self.offset, .integer(Int64(clamping: offset))), (Self.stored, .integer(Int64(storedBytes))),
      (Self.checksum, .integer(Int64(checksum))),
    ])
  }

  /// Nil if the fields are not a valid content record.
  package static func place(_ fields: StoredMap) -> BlobLocation? {
    guard let byteCount: UInt64 = number(fields[bytes]) else { return nil }
    guard fields[pack] != nil else { return BlobLocation(byteCount: byteCount, home: .ownFile) }
    guard let pack: UInt64 = number(fields[pack]), let offset: UInt64 = number(fields[offset]),
      let stored: UInt32 = number(fields[stored]), let checksum: UInt32 = number(fields[checksum]),
      // A forged file must not cause an allocation of more than one frame.
      byteCount <= 1 << 20, stored <= byteCount
    else { return nil }
    return BlobLocation(
      byteCount: byteCount,
      home: .pack(number: pack, offset: offset, storedBytes: stored, checksum: checksum))
  }

  private static func number<Number: FixedWidthInteger>(_ value: StoredValue?) -> Number? {
    if case .integer(let number)? = value { Number(exactly: number) } else { nil }
  }
}

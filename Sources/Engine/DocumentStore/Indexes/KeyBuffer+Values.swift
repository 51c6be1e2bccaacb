// Appends the keys of values, given the values' bytes in a record.
//
// IndexKey.swift has the grammar of the keys. Every value is validated as RecordDecoder validates it.

import ByteStore

extension KeyBuffer {
  /// Appends the key of a value. `bytes` are the value's tag and payload. Returns nil, and appends nothing,
  /// for the types that must be decoded: references, arrays, maps and pending timestamps. Returns false if
  /// the bytes are not a valid value; the buffer's content is then unspecified.
  mutating func append(keyOfScalar bytes: RawSpan) -> Bool? {
    guard bytes.byteCount > 0, let tag = RecordCodec.Tag(rawValue: bytes.byte(at: 0)) else { return false }
    let payload = bytes.extracting(droppingFirst: 1)
    switch tag {
    case .string: return append(keyOfText: payload)
    case .integer: return append(keyOfInteger: payload)
    case .double: return append(keyOfDouble: payload)
    case .timestamp: return append(keyOfTimestamp: payload)
    case .null, .false, .true:
      append(tag == .null ? IndexKey.null : tag == .false ? IndexKey.false : IndexKey.true)
      return payload.isEmpty
    case .bytes:
      append(IndexKey.bytes)
      append(ordered: payload)
      return true
    case .geoPoint: return append(keyOfGeoPoint: payload)
    case .vector: return append(keyOfVector: payload)
    case .reference, .array, .map, .pendingTimestamp: return nil
    }
  }

  private mutating func append(keyOfText payload: RawSpan) -> Bool {
    guard UTF8Check.isValid(payload) else { return false }
    append(IndexKey.text)
    append(ordered: payload)
    return true
  }

  private mutating func append(keyOfInteger payload: RawSpan) -> Bool {
    guard payload.byteCount <= 8, case let number = payload.signed, number.recordBytes == payload.byteCount
    else { return false }
    append(IndexKey.number)
    let (double, rest) = IndexKey.parts(of: number)
    append(double, rest: rest)
    return true
  }

  private mutating func append(keyOfDouble payload: RawSpan) -> Bool {
    guard payload.byteCount <= 8, case let number = Double(bitPattern: payload.doubleBits),
      number.recordBytes == payload.byteCount
    else { return false }
    append(IndexKey.number)
    append(number, rest: 0)
    return true
  }

  private mutating func append(_ double: Double, rest: UInt16) {
    append(bigEndian: IndexKey.bits(of: double))
    if IndexKey.hasRest(double) { append(bigEndian: rest) }
  }

  private mutating func append(keyOfTimestamp payload: RawSpan) -> Bool {
    guard payload.byteCount <= 8, case let microseconds = payload.signed,
      microseconds.recordBytes == payload.byteCount, StoredTimestamp(microseconds: microseconds) != nil
    else { return false }
    append(IndexKey.timestamp)
    append(bigEndian: UInt64(bitPattern: microseconds) ^ (1 << 63))
    return true
  }

  private mutating func append(keyOfGeoPoint payload: RawSpan) -> Bool {
    guard payload.byteCount == 16,
      let place = StoredGeoPoint(
        latitude: Double(bitPattern: payload.word(at: 0)), longitude: Double(bitPattern: payload.word(at: 8)))
    else { return false }
    append(IndexKey.geoPoint)
    append(bigEndian: IndexKey.bits(of: place.latitude))
    append(bigEndian: IndexKey.bits(of: place.longitude))
    return true
  }

  private mutating func append(keyOfVector payload: RawSpan) -> Bool {
    guard payload.byteCount % 8 == 0 else { return false }
    append(IndexKey.vector)
    append(bigEndian: UInt64(payload.byteCount / 8))
    for place in stride(from: 0, to: payload.byteCount, by: 8) {
      append(bigEndian: IndexKey.bits(of: Double(bitPattern: payload.word(at: place))))
    }
    return true
  }
}

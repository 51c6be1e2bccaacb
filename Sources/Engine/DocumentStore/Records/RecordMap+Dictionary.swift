// Converts the maps of a record to dictionaries, without a tree of values in between.

import ByteStore

extension RecordMap {
  /// All fields. Maps become dictionaries, arrays become arrays, and strings and booleans become themselves.
  /// `object` returns the objects for all other values.
  package func dictionary(_ object: (StoredValue) -> Any) -> [String: Any] {
    record.dictionary(range, object)
  }
}

extension CheckedRecord {
  fileprivate func dictionary(_ range: Range<Int>, _ object: (StoredValue) -> Any) -> [String: Any] {
    let layout = layout(ofMap: range)
    if layout.shape > 0, let shape = shape(ofMapAt: range.lowerBound) {
      return unsafe withOffsets(of: layout) { offsets in
        // A copy of the shape's dictionary has the names in place, without a hash of any name.
        shape.places.mapValues { unsafe any(offsets[$0]..<offsets[$0 + 1], object) }
      }
    }
    var dictionary = [String: Any](minimumCapacity: layout.count)
    for index in 0..<layout.count {
      let (name, value) = entry(index, layout)
      dictionary[String(decoding: bytes[name], as: UTF8.self)] = any(value, object)
    }
    return dictionary
  }

  /// Calls `body` with the offsets of all values of a map that has a shape, and with the offset after the
  /// last value.
  private func withOffsets<Result>(
    of layout: RecordLayout, _ body: (UnsafeBufferPointer<Int>) -> Result
  ) -> Result {
    unsafe withUnsafeTemporaryAllocation(of: Int.self, capacity: layout.count + 1) { offsets in
      // A shape has at most 256 names, so the buffer is small. All its elements are initialized before `body`
      // reads them.
      withBytes { bytes in
        unsafe offsets.initializeElement(at: 0, to: layout.first)
        for slot in 0..<layout.count {
          guard let end = unsafe layout.end(ofValue: slot, from: offsets[slot], in: bytes) else {
            preconditionFailure("a record was not checked before it was read")
          }
          unsafe offsets.initializeElement(at: slot + 1, to: end)
        }
      }
      return unsafe body(UnsafeBufferPointer(offsets))
    }
  }

  private func any(_ value: Range<Int>, _ object: (StoredValue) -> Any) -> Any {
    let bytes = bytes
    let payload = value.lowerBound + 1..<value.upperBound
    switch RecordCodec.Tag(rawValue: bytes[value.lowerBound]) {
    case .string: return String(validated: bytes.rawSpan.extracting(payload))
    case .true: return true
    case .false: return false
    case .map: return dictionary(payload, object)
    case .array: return array(payload, object)
    case .integer: return object(.integer(bytes.rawSpan.extracting(payload).signed))
    case .double: return object(.double(Double(bitPattern: bytes.rawSpan.extracting(payload).doubleBits)))
    case .timestamp:
      let time = StoredTimestamp(microseconds: bytes.rawSpan.extracting(payload).signed)
      return object(time.map { .timestamp($0) } ?? RecordValue(self, value).stored)
    default: return object(RecordValue(self, value).stored)
    }
  }

  private func array(_ range: Range<Int>, _ object: (StoredValue) -> Any) -> [Any] {
    elements(range) { _, value in any(value, object) } ?? []
  }
}

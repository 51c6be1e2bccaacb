// Checks whether bytes are a valid record, without creating values:
//
//   checkMap throws  ⇔  map throws

import ByteStore

extension RecordDecoder {
  func checkMap(_ range: Range<Int>, depth: Int) throws(RecordError) {
    let layout = try mapLayout(range)
    var start = layout.first
    guard layout.shape == 0 else {
      for slot in 0..<layout.count {
        let end = try end(ofValue: slot, from: start, layout: layout)
        try checkValue(start..<end, depth: depth)
        start = end
      }
      return
    }
    var last: Range<Int>?
    for index in 0..<layout.count {
      let (name, value) = try parts(ofEntry: index, from: start, layout: layout)
      guard UTF8Check.isValid(record.extracting(name)),
        last.map({ record.extracting($0).precedes(record.extracting(name)) }) ?? true
      else { throw RecordError(offset: start, expected: "a field's name, in order") }
      last = name
      try checkValue(value, depth: depth)
      start = value.upperBound
    }
  }

  private func checkValue(_ range: Range<Int>, depth: Int) throws(RecordError) {
    let offset = range.lowerBound
    guard let tag = RecordCodec.Tag(rawValue: record.byte(at: offset)) else {
      throw RecordError(offset: offset, expected: "a value's tag")
    }
    let inner = offset + 1..<range.upperBound
    switch tag {
    case .array, .map:
      guard depth < RecordCodec.depthMax else {
        throw RecordError(offset: offset, expected: "values at most \(RecordCodec.depthMax) deep")
      }
      if tag == .map {
        try checkMap(inner, depth: depth + 1)
      } else {
        try checkArray(inner, depth: depth + 1)
      }
    case .pendingTimestamp:
      _ = try pendingTime(inner)
      if inner.count > 8 { try checkValue(inner.lowerBound + 8..<inner.upperBound, depth: depth) }
    default:
      guard Self.isScalar(tag, record.extracting(inner)) else {
        throw RecordError(offset: offset, expected: "a value with tag \(tag)")
      }
    }
  }

  private func checkArray(_ range: Range<Int>, depth: Int) throws(RecordError) {
    let layout = try arrayLayout(range)
    var start = layout.first
    for index in 0..<layout.count {
      let end = try end(ofValue: index, from: start, layout: layout)
      try checkValue(start..<end, depth: depth)
      start = end
    }
  }

  private static func isScalar(_ tag: RecordCodec.Tag, _ payload: RawSpan) -> Bool {
    switch tag {
    case .string: UTF8Check.isValid(payload)
    case .bytes: true
    case .vector: payload.byteCount % 8 == 0
    default: RecordScalar.decode(tag, payload) != nil
    }
  }
}

// Compares the fields of two checked records without decoding them.
//
// The result is that of `StoredMap ==`. A document has exactly one encoding for given shapes, with two
// exceptions that matter here: NaNs with different bits are equal, and a map with names equals a map that has
// a shape with these names. Therefore equal bytes are equal fields, and other bytes are compared value by
// value.

import ByteStore

struct FieldsComparison: ~Escapable {
  /// One of the records.
  struct Side: ~Escapable {
    let bytes: RawSpan
    let shapes: ShapeBytes

    @_lifetime(copy bytes, copy shapes)
    init(_ bytes: RawSpan, shapes: RawSpan) {
      self.bytes = bytes
      self.shapes = ShapeBytes(shapes)
    }

    /// The name at `index` of a map with names or a shape.
    @_lifetime(copy self)
    func name(_ index: Int, _ layout: RecordLayout) -> RawSpan {
      if layout.shape > 0 { return shapes.name(index, layout.shape, count: layout.count).bytes }
      guard let entry = layout.range(ofEntry: index, in: bytes),
        let parts = RecordLayout.parts(ofEntry: entry, in: bytes)
      else { return bytes.extracting(first: 0) }
      return bytes.extracting(parts.name)
    }

    func layout(ofMap range: Range<Int>) -> RecordLayout? {
      RecordLayout(mapIn: bytes, from: range.lowerBound, to: range.upperBound, shapes: shapes)
    }

    func layout(ofArray range: Range<Int>) -> RecordLayout? {
      RecordLayout(arrayIn: bytes, from: range.lowerBound, to: range.upperBound)
    }
  }

  let left: Side
  let right: Side
  /// Whether an id stands for the same shape in both records.
  let areShapesSame: Bool

  @_lifetime(copy left, copy right)
  init(_ left: Side, _ right: Side, areShapesSame: Bool) {
    self.left = left
    self.right = right
    self.areShapesSame = areShapesSame
  }

  // MARK: Maps

  /// Whether two maps have equal fields.
  func areSame(maps leftRange: Range<Int>, _ rightRange: Range<Int>) -> Bool {
    let common = areShapesSame ? commonBytes(leftRange, rightRange) : 0
    if areShapesSame, common == leftRange.count, common == rightRange.count { return true }
    guard let leftMap = left.layout(ofMap: leftRange), let rightMap = right.layout(ofMap: rightRange),
      leftMap.count == rightMap.count
    else { return false }
    // If the first difference is behind the heads, both have the same shape, and tables of the same width.
    let haveSameShape =
      leftMap.shape > 0 && rightMap.shape > 0 && leftMap.table - leftRange.lowerBound <= common
    guard haveSameShape else {
      return haveSameNames(leftMap, rightMap) && areSame(maps: leftMap, rightMap)
    }
    let slot = slot(at: leftRange.lowerBound + common, leftMap)
    // Usually this value decides. Else its difference is one that does not matter.
    guard let leftValue = leftMap.range(ofValue: slot, in: left.bytes),
      let rightValue = rightMap.range(ofValue: slot, in: right.bytes),
      areSame(values: leftValue, rightValue)
    else { return false }
    return areSame(maps: leftMap, rightMap)
  }

  private func areSame(maps leftMap: RecordLayout, _ rightMap: RecordLayout) -> Bool {
    areSame(
      RecordValues(leftMap, areNamed: leftMap.shape == 0),
      RecordValues(rightMap, areNamed: rightMap.shape == 0))
  }

  /// The number of equal bytes at the start of both ranges.
  private func commonBytes(_ leftRange: Range<Int>, _ rightRange: Range<Int>) -> Int {
    left.bytes.extracting(leftRange).commonBytes(with: right.bytes.extracting(rightRange))
  }

  /// The slot whose value, or whose number in the table, contains the byte at `offset`.
  private func slot(at offset: Int, _ map: RecordLayout) -> Int {
    if offset < map.first { return (offset - map.table) / map.width }
    var start = map.first
    for slot in 0..<map.count {
      guard let end = map.end(ofValue: slot, from: start, in: left.bytes), end <= offset else { return slot }
      start = end
    }
    return map.count - 1
  }

  private func haveSameNames(_ leftMap: RecordLayout, _ rightMap: RecordLayout) -> Bool {
    for index in 0..<leftMap.count {
      guard left.name(index, leftMap).isSame(as: right.name(index, rightMap)) else { return false }
    }
    return true
  }

  /// Whether the remaining values of two maps or arrays with equal counts are equal.
  private func areSame(_ leftParts: RecordValues, _ rightParts: RecordValues) -> Bool {
    var (leftParts, rightParts) = (leftParts, rightParts)
    while let leftPart = leftParts.next(in: left.bytes) {
      guard let rightPart = rightParts.next(in: right.bytes), areSame(values: leftPart, rightPart) else {
        return false
      }
    }
    return leftParts.isAtEnd
  }

  // MARK: Values

  /// Whether two values are equal. The ranges contain the tags.
  func areSame(values leftRange: Range<Int>, _ rightRange: Range<Int>) -> Bool {
    let tag = left.bytes.byte(at: leftRange.lowerBound)
    guard tag == right.bytes.byte(at: rightRange.lowerBound) else { return false }
    let leftInner = leftRange.lowerBound + 1..<leftRange.upperBound
    let rightInner = rightRange.lowerBound + 1..<rightRange.upperBound
    switch RecordCodec.Tag(rawValue: tag) {
    case .map:
      return areSame(maps: leftInner, rightInner)
    case .array:
      guard let leftArray = left.layout(ofArray: leftInner),
        let rightArray = right.layout(ofArray: rightInner), leftArray.count == rightArray.count
      else { return false }
      return areSame(RecordValues(leftArray), RecordValues(rightArray))
    case .pendingTimestamp:
      return areSame(pending: leftInner, rightInner)
    case .double:
      let (left, right) = (left.bytes.extracting(leftInner), right.bytes.extracting(rightInner))
      return left.isSame(as: right) || left.doubleBits.isNaN && right.doubleBits.isNaN
    case .vector:
      return areSame(vectors: leftInner, rightInner)
    default:
      return left.bytes.extracting(leftInner).isSame(as: right.bytes.extracting(rightInner))
    }
  }

  private func areSame(pending leftRange: Range<Int>, _ rightRange: Range<Int>) -> Bool {
    guard leftRange.count >= 8, rightRange.count >= 8,
      left.bytes.word(at: leftRange.lowerBound) == right.bytes.word(at: rightRange.lowerBound)
    else { return false }
    guard leftRange.count > 8, rightRange.count > 8 else { return leftRange.count == rightRange.count }
    return areSame(
      values: leftRange.lowerBound + 8..<leftRange.upperBound,
      rightRange.lowerBound + 8..<rightRange.upperBound)
  }

  private func areSame(vectors leftRange: Range<Int>, _ rightRange: Range<Int>) -> Bool {
    guard leftRange.count == rightRange.count else { return false }
    for offset in stride(from: 0, to: leftRange.count, by: 8) {
      let leftBits = left.bytes.word(at: leftRange.lowerBound + offset)
      let rightBits = right.bytes.word(at: rightRange.lowerBound + offset)
      guard leftBits == rightBits || leftBits.isNaN && rightBits.isNaN else { return false }
    }
    return true
  }
}

extension UInt64 {
  /// Whether these are the bits of a NaN.
  fileprivate var isNaN: Bool { Double(bitPattern: self).isNaN }
}

extension RawSpan {
  /// The number of equal bytes at the start of both spans.
  func commonBytes(with other: RawSpan) -> Int {
    let end = min(byteCount, other.byteCount)
    var offset = 0
    while end - offset >= 8 {
      let difference = word(at: offset) ^ other.word(at: offset)
      guard difference == 0 else { return offset + difference.trailingZeroBitCount / 8 }
      offset += 8
    }
    while offset < end, byte(at: offset) == other.byte(at: offset) { offset += 1 }
    return offset
  }
}

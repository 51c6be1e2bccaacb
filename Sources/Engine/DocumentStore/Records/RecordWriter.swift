// Writes the fields of one document as a record, from events: a map begins, a field, its value, the map ends.
//
// 1. `field` and `element` note where a value begins. Values are written one after another as they come.
// 2. A map expects the shape that the last map in its place had, so most fields know their slot at once.
// 3. At the end of a map, its values are put into the order of the slots, and the table is written in front.
// 4. If the map has another shape, the shape is looked up by all names (RecordWriter+Shapes.swift).
//
// The writer also computes Firestore's size of the fields and notes whether a limit could be exceeded. It
// keeps writing in this case: `DocumentLimits` finds the exact error in the decoded fields.

import ByteStore

package struct RecordWriter: ~Copyable {
  /// Size of the head with a placeholder for the times.
  static let headBytes = 9
  private static let placesMax = 256

  var bytes = RecordBuffer(capacity: 4096)
  var parts = RecordParts()
  /// Permutations of parts, while a map is put into order.
  var order = RecordParts()
  /// The names of the fields that their map's expected shape lacks.
  var otherNames: [String] = []
  var snapshot = ShapeSnapshot.empty
  /// Nil if maps get no shapes.
  var shapes: ShapeDictionary?
  /// Ids of the shapes used since `forgetUsedShapes`. An id may occur several times.
  private(set) var usedShapes: [Int] = []
  private var tracksShapes = false
  /// Firestore's size of what was written.
  var size = 0
  private var depth = 0
  /// A field was written twice, so `size` is too large.
  private var isSizeUnknown = false
  private var violatesLimits = false
  /// Whether a map with fields was written with its names.
  private(set) var hasNamedMaps = false
  /// Whether values beyond the limits are left out. Recursion and memory are then bounded by the limits, even
  /// if the caller's values share their contents.
  var stopsAtLimits = false
  /// For each place, the id plus one of the last map there. A place is a hash of the names on the way to the
  /// map, by which maps of one kind find their last shape.
  private var expected = [UInt16](repeating: 0, count: placesMax)
  var place = 0

  package init() {}

  /// A map whose fields are being written.
  @safe
  package struct OpenMap {
    let start: Int
    let firstPart: Int
    let firstOtherName: Int
    let place: Int
    /// Size of everything before the map.
    let sizeBefore: Int
    let isNested: Bool
    /// Not retained, because each field of the map uses it. The dictionary keeps every shape as long as it
    /// exists, and the writer keeps the dictionary, or a snapshot of it, while a map is open.
    private let expected: Unmanaged<ShapeSlots>?

    fileprivate init(_ writer: borrowing RecordWriter, place: Int, expected: ShapeSlots?, isNested: Bool) {
      start = writer.bytes.count
      firstPart = writer.parts.count
      firstOtherName = writer.otherNames.count
      self.place = place
      sizeBefore = writer.size
      self.isNested = isNested
      unsafe self.expected = unsafe expected.map { unsafe Unmanaged.passUnretained($0) }
    }

    /// The expected shape.
    @inline(__always)
    var shape: ShapeSlots? { unsafe expected?.takeUnretainedValue() }

    /// The slot of a name in the expected shape; nil if that shape lacks the name.
    @inline(__always)
    func slot(of name: String) -> Int? {
      guard let expected = unsafe expected else { return nil }
      return unsafe expected._withUnsafeGuaranteedRef { $0.slot(of: name) }
    }
  }

  /// An array whose elements are being written.
  package struct OpenArray {
    let start: Int
    let firstPart: Int
    let place: Int
  }

  // MARK: Records

  /// Begins a record. `kind` tells apart documents of different kinds, which mostly have different shapes.
  package mutating func begin(kind: Int = 0) -> OpenMap {
    beginRecord(kind: kind)
    return openMap(isNested: false)
  }

  /// Begins a record, whose outermost map follows.
  mutating func beginRecord(kind: Int = 0) {
    bytes.truncate(to: 0)
    bytes.append(RecordCodec.unchangedForm)
    bytes.append(word: 0)
    reset(kind: kind)
  }

  /// Begins the fields of a further record after the bytes written so far.
  mutating func beginFields(kind: Int = 0) -> OpenMap {
    reset(kind: kind)
    return openMap(isNested: false)
  }

  private mutating func reset(kind: Int) {
    if let shapes, shapes.version != snapshot.version { snapshot = shapes.snapshot }
    parts.truncate(to: 0)
    if !otherNames.isEmpty { otherNames.removeAll(keepingCapacity: true) }
    (size, depth, isSizeUnknown, violatesLimits, hasNamedMaps) = (0, 0, false, false, false)
    place = kind
  }

  /// Returns the record since `begin`, which has a placeholder for the times.
  func finish() -> CheckedRecord {
    CheckedRecord(
      trusted: bytes.array(), snapshot.table, fieldsStart: Self.headBytes,
      checkedSize: isWithinLimits && !isSizeUnknown ? size : nil,
      lacksShapes: hasNamedMaps && shapes == nil)
  }

  /// False if the fields may exceed a limit of documents, apart from the limit on the whole document's size.
  package var isWithinLimits: Bool {
    // No value is larger than all fields together.
    !violatesLimits && size <= FieldLimits.valueBytesMax
  }

  // MARK: Maps

  /// Begins a map as the value of the last field or element.
  package mutating func beginMap() -> OpenMap {
    beginNested(.map)
    return openMap(isNested: true)
  }

  mutating func openMap(isNested: Bool) -> OpenMap {
    let place = place & (Self.placesMax - 1)
    let id = Int(expected[place]) &- 1
    return OpenMap(self, place: place, expected: id >= 0 ? snapshot.slots(id) : nil, isNested: isNested)
  }

  /// Begins a field, whose value follows.
  package mutating func field(_ name: String, in map: OpenMap) {
    if let slot = map.slot(of: name) {
      beginField(slot: slot, in: map)
    } else {
      otherNames.append(name)
      beginField(slot: ~(otherNames.count - 1), in: map)
    }
  }

  @inline(__always)
  mutating func beginField(slot: Int, in map: OpenMap) {
    parts.append(slot: slot, start: bytes.count)
    place = map.place &* 31 &+ slot &+ 1
  }

  /// Drops the last field, of which no value was written.
  package mutating func dropField(in map: OpenMap) {
    let part = parts[parts.count - 1]
    bytes.truncate(to: Int(part.start))
    if part.slot < 0 { otherNames.removeLast() }
    parts.truncate(to: parts.count - 1)
  }

  /// Whether a field with this name was written into an open map.
  package func hasField(_ name: String, in map: OpenMap) -> Bool {
    let known = map.slot(of: name)
    for index in map.firstPart..<parts.count {
      let slot = Int(parts[index].slot)
      if slot < 0 ? otherNames[~slot].isSameUTF8(as: name) : slot == known { return true }
    }
    return false
  }

  /// Whether a map has no fields so far.
  package func isEmpty(_ map: OpenMap) -> Bool { parts.count == map.firstPart }

  /// Removes a nested map that has no fields. The field or element whose value it is remains open.
  package mutating func cancel(_ map: OpenMap) {
    assert(parts.count == map.firstPart && otherNames.count == map.firstOtherName)
    bytes.truncate(to: map.start &- 1)
    size = map.sizeBefore
    depth &-= 1
  }

  package mutating func end(_ map: OpenMap) {
    let count = parts.count &- map.firstPart
    if let shape = map.shape, count == shape.count, otherNames.count == map.firstOtherName,
      putInOrder(map, count)
    {
      endMap(map, with: shape)
    } else {
      endUnexpected(map)
    }
  }

  /// Makes `order` the indices of the parts by slot. Returns false if two parts have one slot.
  mutating func putInOrder(_ map: OpenMap, _ count: Int) -> Bool {
    order.truncate(to: 0)
    var isInOrder = true
    for index in 0..<count where Int(parts[map.firstPart &+ index].slot) != index {
      isInOrder = false
      break
    }
    if isInOrder { return true }
    for _ in 0..<count { order.append(slot: -1, start: 0) }
    for index in 0..<count {
      let slot = Int(parts[map.firstPart &+ index].slot)
      guard order[slot].slot < 0 else { return false }
      order[slot].slot = Int32(truncatingIfNeeded: index)
    }
    return true
  }

  /// Ends a map whose parts have the slots of a shape. `order` is empty if the parts are in order.
  mutating func endMap(_ map: OpenMap, with shape: ShapeSlots) {
    expected[map.place] = UInt16(truncatingIfNeeded: shape.id &+ 1)
    writeTable(head: shape.id &+ 1, from: map.start, firstPart: map.firstPart)
    note(shape)
    close(map)
  }

  private mutating func note(_ shape: ShapeSlots) {
    if tracksShapes, !usedShapes.suffix(4).contains(shape.id) { usedShapes.append(shape.id) }
    size &+= shape.nameSize
    if !shape.areUserNames { violatesLimits = true }
  }

  /// Removes the map's parts and other names.
  mutating func close(_ map: OpenMap) {
    parts.truncate(to: map.firstPart)
    if otherNames.count > map.firstOtherName {
      otherNames.removeSubrange(map.firstOtherName...)
    }
    if map.isNested { endNested() }
  }

  private mutating func endNested() {
    size &+= 32
    depth &-= 1
  }

  // Maps of trees are written without parts (RecordWriter+Trees.swift).

  /// The shape of the last map in this place.
  var expectedShape: ShapeSlots? {
    let id = Int(expected[place & (Self.placesMax - 1)]) &- 1
    return id >= 0 ? snapshot.slots(id) : nil
  }

  /// Notes the shape of a map in this place.
  mutating func expect(_ shape: ShapeSlots) {
    expected[place & (Self.placesMax - 1)] = UInt16(truncatingIfNeeded: shape.id &+ 1)
  }

  /// Ends a map whose values and table have been written.
  mutating func endValues(_ shape: ShapeSlots, isNested: Bool) {
    note(shape)
    if isNested { endNested() }
  }

  mutating func noteName(bytes: Int, isUserName: Bool) {
    hasNamedMaps = true
    size &+= bytes &+ 1
    if !isUserName { violatesLimits = true }
  }

  mutating func noteSizeUnknown() { isSizeUnknown = true }

  // MARK: Arrays

  /// Begins an array as the value of the last field or element.
  package mutating func beginArray() -> OpenArray {
    beginNested(.array)
    return OpenArray(start: bytes.count, firstPart: parts.count, place: place)
  }

  /// Begins an element, whose value follows.
  @inline(__always)
  package mutating func element(in array: OpenArray) {
    parts.append(slot: 0, start: bytes.count)
    place = array.place
  }

  /// Drops the last element, of which no value was written.
  package mutating func dropElement(in array: OpenArray) {
    let part = parts[parts.count &- 1]
    assert(parts.count > array.firstPart && bytes.count == Int(part.start))
    parts.truncate(to: parts.count &- 1)
  }

  package mutating func end(_ array: OpenArray) {
    order.truncate(to: 0)
    writeTable(head: parts.count &- array.firstPart, from: array.start, firstPart: array.firstPart)
    parts.truncate(to: array.firstPart)
    endArray()
  }

  mutating func endArray() { depth &-= 1 }

  /// Whether a value of this size is left out. Without this value, the document may seem to be within the
  /// limits, so it is noted that it is not.
  @inline(__always)
  mutating func leavesOut(bytes: Int) -> Bool {
    guard stopsAtLimits, violatesLimits || size &+ bytes > FieldLimits.valueBytesMax else { return false }
    violatesLimits = true
    null()
    return true
  }

  /// Whether the content of the map or array that has just begun is left out.
  var isTooDeep: Bool { stopsAtLimits && depth > FieldLimits.depthMax }

  /// Begins a map or an array as the value of the last field or element.
  mutating func beginNested(_ tag: RecordCodec.Tag) {
    bytes.append(tag.rawValue)
    depth &+= 1
    if depth > FieldLimits.depthMax { violatesLimits = true }
  }

  // MARK: Tables

  /// Writes the head and the table of lengths in front of the values from `start` on, and puts the values
  /// into the order of `order`, unless it is empty.
  private mutating func writeTable(head: Int, from start: Int, firstPart: Int) {
    let count = parts.count &- firstPart
    let end = bytes.count
    let last = order.count > 0 ? Int(order[count - 1].slot) : count &- 1
    var longest = 0
    for index in 0..<count where index != last {
      longest = max(longest, length(index, from: firstPart, count: count, end: end))
    }
    let code = longest > 0xFFFF ? 2 : longest > 0xFF ? 1 : 0
    let head = head << 2 | code
    let table = max(count &- 1, 0) << code
    let headBytes = head < 0x80 ? 1 : head < 0x4000 ? 2 : Self.varintBytes(head)
    if order.count == 0 {
      bytes.insertGap(headBytes &+ table, at: start)
      bytes.set(varint: head, at: start, bytes: headBytes)
      for index in 0..<max(count &- 1, 0) {
        let number = length(index, from: firstPart, count: count, end: end)
        bytes.set(number, at: start &+ headBytes &+ index << code, width: 1 << code)
      }
    } else {
      bytes.prepare(headBytes &+ table &+ end &- start)
      bytes.append(varint: head)
      let tableStart = bytes.count
      bytes.appendGap(table)
      for slot in 0..<count {
        let index = Int(order[slot].slot)
        let number = length(index, from: firstPart, count: count, end: end)
        bytes.appendPrepared(copyOf: Int(parts[firstPart &+ index].start), bytes: number)
        if slot < count &- 1 { bytes.set(number, at: tableStart &+ slot << code, width: 1 << code) }
      }
      bytes.remove(from: start, to: end)
    }
  }

  /// The length of a value, in the order of arrival.
  @inline(__always)
  func length(_ index: Int, from firstPart: Int, count: Int, end: Int) -> Int {
    let start = Int(parts[firstPart &+ index].start)
    return (index &+ 1 < count ? Int(parts[firstPart &+ index &+ 1].start) : end) &- start
  }

  static func varintBytes(_ number: Int) -> Int {
    max(1, (Int.bitWidth - number.leadingZeroBitCount + 6) / 7)
  }

  // MARK: Used shapes

  mutating func trackShapes() { tracksShapes = true }

  mutating func takeUsedShapes() -> [Int] {
    defer { usedShapes.removeAll(keepingCapacity: true) }
    return usedShapes
  }
}

// MARK: - Values

extension RecordWriter {
  /// Notes a violated limit, or a value that only the slower encoders can judge.
  package mutating func noteViolation() { violatesLimits = true }

  package mutating func null() {
    bytes.append(RecordCodec.Tag.null.rawValue)
    size &+= 1
  }

  package mutating func boolean(_ value: Bool) {
    bytes.append((value ? RecordCodec.Tag.true : .false).rawValue)
    size &+= 1
  }

  package mutating func integer(_ value: Int64) {
    bytes.append(
      RecordCodec.Tag.integer.rawValue, lowest: value.recordBytes, of: UInt64(bitPattern: value))
    size &+= 8
  }

  package mutating func double(_ value: Double) {
    let count = value.recordBytes
    let bits = Int64(bitPattern: value.bitPattern)
    let number = count > 0 ? bits &>> Int64(truncatingIfNeeded: 64 &- 8 &* count) : 0
    bytes.append(RecordCodec.Tag.double.rawValue, lowest: count, of: UInt64(bitPattern: number))
    size &+= 8
  }

  package mutating func timestamp(_ value: StoredTimestamp) {
    let number = value.microseconds
    bytes.append(
      RecordCodec.Tag.timestamp.rawValue, lowest: number.recordBytes, of: UInt64(bitPattern: number))
    size &+= 8
  }

  package mutating func string(_ value: String) {
    guard !leavesOut(bytes: value.utf8.count) else { return }
    size &+= bytes.append(RecordCodec.Tag.string.rawValue, utf8: value) &+ 1
  }

  package mutating func bytes(_ value: RawSpan) {
    guard !leavesOut(bytes: value.byteCount) else { return }
    bytes.append(RecordCodec.Tag.bytes.rawValue)
    bytes.append(contentsOf: value)
    size &+= value.byteCount
  }

  package mutating func geoPoint(_ value: StoredGeoPoint) {
    bytes.append(RecordCodec.Tag.geoPoint.rawValue)
    bytes.append(word: value.latitude.bitPattern)
    bytes.append(word: value.longitude.bitPattern)
    size &+= 16
  }

  package mutating func vector(_ value: [Double]) {
    guard !leavesOut(bytes: 8 &* value.count) else { return }
    bytes.append(RecordCodec.Tag.vector.rawValue)
    for element in value { bytes.append(word: element.bitPattern) }
    size &+= 8 &* value.count
    if value.count > FieldLimits.vectorDimensionsMax { violatesLimits = true }
  }

  package mutating func reference(_ value: StoredReference) {
    guard !leavesOut(bytes: 0) else { return }
    bytes.append(RecordCodec.Tag.reference.rawValue)
    append(sized: value.projectID)
    append(sized: value.databaseID)
    for (place, segment) in value.path.segments.enumerated() {
      if place > 0 { bytes.append(UInt8(ascii: "/")) }
      bytes.append(utf8: segment)
    }
    if let nameSize = FieldLimits.size(of: value) { size &+= nameSize } else { violatesLimits = true }
  }

  private mutating func append(sized text: String) {
    bytes.append(varint: text.utf8.count)
    bytes.append(utf8: text)
  }

  /// Begins a pending time. The previous value must follow if `hasPrevious`, and then `endPendingTimestamp`.
  mutating func beginPendingTimestamp(_ time: StoredTimestamp) -> Int {
    bytes.append(RecordCodec.Tag.pendingTimestamp.rawValue)
    bytes.append(word: UInt64(bitPattern: time.microseconds))
    return size
  }

  mutating func endPendingTimestamp(_ sizeBefore: Int) {
    // The previous value must be within the limits, too, but does not count.
    if size > FieldLimits.valueBytesMax { violatesLimits = true }
    size = sizeBefore &+ 8
  }
}

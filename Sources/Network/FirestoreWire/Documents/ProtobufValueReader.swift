// Reads values from protobuf as trees: operands and cursors, and documents in an unusual form.
//
// The reader follows the rules of protobuf for fields that occur more than once. The last content of a value
// wins, except that maps, arrays, times and geo points of one value are merged. Unknown fields are skipped.

import ByteStore
import DocumentStore

struct ProtobufValueReader: ~Escapable {
  /// The parts of one message. A message in more parts is refused, because each part takes memory.
  private typealias Parts = [Range<Int>]
  private static let partsMax = 10_000

  private let bytes: RawSpan
  private var budget: ValueBudget
  private(set) var notes = PipelineNotes()

  @_lifetime(copy bytes)
  init(_ bytes: RawSpan, _ rules: ValueRules) {
    self.bytes = bytes
    budget = ValueBudget(rules)
  }

  /// Reads the content of the only value in the bytes.
  mutating func value() throws(WireError) -> StoredValue {
    try value([0..<bytes.byteCount], isElement: false, depth: 0)
  }

  /// Reads entries of a map: the first one behind its tag, and those that follow with this tag.
  mutating func fields(behind tag: ProtobufTag) throws(WireError) -> (fields: StoredMap, byteCount: Int) {
    var entries: [StoredMap.Entry] = []
    var reader = try ProtobufReader(bytes, limits: Self.limits)
    repeat {
      entries.append(try entry(try range(&reader, in: 0..<bytes.byteCount), depth: 0))
    } while try reader.skips(tag)
    return (StoredMap(entries), reader.offset)
  }

  // MARK: Parts

  /// The size was checked when the message was received. Each value counts in the budget.
  private static let limits: WireLimits = {
    var limits = WireLimits()
    (limits.bytesMax, limits.countMax) = (.max, .max)
    return limits
  }()

  /// Reads a length, and returns the range of as many bytes. `part` is what the reader reads.
  private func range(_ reader: inout ProtobufReader, in part: Range<Int>) throws(WireError) -> Range<Int> {
    let count = try reader.length()
    let start = part.lowerBound + reader.offset
    reader.skip(bytes: count)
    return start..<start + count
  }

  private func append(_ part: Range<Int>, to parts: inout Parts) throws(WireError) {
    guard parts.count < Self.partsMax else { throw .tooManyElements }
    parts.append(part)
  }

  private func text(_ range: Range<Int>) throws(WireError) -> String {
    let text = unsafe bytes.extracting(range).withUnsafeBytes { unsafe String(validating: $0, as: UTF8.self) }
    guard let text else { throw WireError("The message contains a string that is not valid UTF-8.") }
    return text
  }

  // MARK: Maps

  /// The entries in order of appearance. A name may occur more than once. `depth` is the number of maps and
  /// arrays around the values.
  private mutating func entries(_ parts: Parts, depth: Int) throws(WireError) -> [StoredMap.Entry] {
    var entries: [StoredMap.Entry] = []
    for part in parts {
      var reader = try ProtobufReader(bytes.extracting(part), limits: Self.limits)
      while let tag = try reader.tag() {
        guard tag == ProtobufTag(1, .length) else {
          try reader.skip(tag)
          continue
        }
        entries.append(try entry(try range(&reader, in: part), depth: depth))
      }
    }
    return entries
  }

  private mutating func entry(_ entry: Range<Int>, depth: Int) throws(WireError) -> StoredMap.Entry {
    var name = ""
    var value: Parts = []
    var reader = try ProtobufReader(bytes.extracting(entry), limits: Self.limits)
    while let tag = try reader.tag() {
      switch (tag.number, tag.type) {
      case (1, .length): name = try text(try range(&reader, in: entry))
      case (2, .length): try append(try range(&reader, in: entry), to: &value)
      default: try reader.skip(tag)
      }
    }
    if depth == 0 {
      budget.begin(property: name)
      try budget.check(name: name)
    }
    try budget.add(bytes: name.utf8.count + 1)
    notes.begin(field: name)
    let content = try self.value(value, isElement: false, depth: depth)
    notes.endField()
    return (name, content)
  }

  // MARK: Values

  private enum Content {
    /// A number, a boolean or null.
    case scalar(StoredValue)
    case string(Range<Int>)
    case bytes(Range<Int>)
    case reference(Range<Int>)
    /// A message in the field with this number, whose parts are merged.
    case message(Int32)
    /// A value that only pipelines have.
    case pipeline(String)
  }

  private mutating func value(_ parts: Parts, isElement: Bool, depth: Int) throws(WireError) -> StoredValue {
    var found: Content?
    // Not in the enum, where each part would copy those before it.
    var foundParts: Parts = []
    for part in parts {
      var reader = try ProtobufReader(bytes.extracting(part), limits: Self.limits)
      while let tag = try reader.tag() {
        guard let content = try content(tag, &reader, in: part) else {
          try reader.skip(tag)
          continue
        }
        if case .message(let number) = content {
          if case .message(number) = found {} else { foundParts.removeAll(keepingCapacity: true) }
          try append(try range(&reader, in: part), to: &foundParts)
        }
        found = content
      }
    }
    switch found {
    case nil: throw .unsetValue
    case .scalar(let value):
      try budget.add(scalar: value)
      return value
    case .string(let range):
      try budget.add(bytes: range.count + 1)
      return .string(try text(range))
    case .bytes(let range):
      try budget.add(bytes: range.count)
      return .bytes([UInt8](copying: bytes.extracting(range)))
    case .reference(let range):
      try budget.add(bytes: range.count)
      return try .reference(StoredReference(ResourceName(try text(range), as: .reference)))
    case .message(let number): return try message(number, foundParts, isElement: isElement, depth: depth)
    case .pipeline(let type):
      try budget.add(scalar: .null)
      try notes.note(type)
      return .null
    }
  }

  /// Reads one more field of a value. A message is left to the caller. Nil if the field is none of a value's,
  /// which is still to be skipped.
  private func content(
    _ tag: ProtobufTag, _ reader: inout ProtobufReader, in part: Range<Int>
  ) throws(WireError) -> Content? {
    switch (tag.number, tag.type) {
    case (1, .varint): return .scalar(.boolean(try reader.varint() != 0))
    case (2, .varint): return .scalar(.integer(Int64(bitPattern: try reader.varint())))
    case (3, .fixed64): return .scalar(.double(try reader.double()))
    case (11, .varint):
      _ = try reader.varint()
      return .scalar(.null)
    case (5, .length): return .reference(try range(&reader, in: part))
    case (17, .length): return .string(try range(&reader, in: part))
    case (18, .length): return .bytes(try range(&reader, in: part))
    case (6, .length), (8, .length), (9, .length), (10, .length): return .message(tag.number)
    case (19...22, .length):
      _ = try range(&reader, in: part)
      return .pipeline(Self.pipelineTypes[Int(tag.number) - 19])
    default: return nil
    }
  }

  private static let pipelineTypes = [
    "FIELD_REFERENCE_VALUE", "FUNCTION_VALUE", "PIPELINE_VALUE", "VARIABLE_REFERENCE_VALUE",
  ]

  private mutating func message(
    _ number: Int32, _ parts: Parts, isElement: Bool, depth: Int
  ) throws(WireError) -> StoredValue {
    switch number {
    case 6:
      try budget.beginMap(depth: depth)
      return try budget.value(ofMap: try entries(parts, depth: depth + 1), isElement: isElement)
    case 9:
      try budget.beginArray(depth: depth, isElement: isElement)
      notes.beginArray()
      let elements = try elements(parts, depth: depth + 1)
      notes.endArray()
      return .array(elements)
    case 8:
      try budget.add(bytes: 16)
      return .geoPoint(try geoPoint(parts))
    default:
      try budget.add(bytes: 8)
      return .timestamp(try timestamp(parts))
    }
  }

  private mutating func elements(_ parts: Parts, depth: Int) throws(WireError) -> [StoredValue] {
    var elements: [StoredValue] = []
    for part in parts {
      var reader = try ProtobufReader(bytes.extracting(part), limits: Self.limits)
      while let tag = try reader.tag() {
        guard tag == ProtobufTag(1, .length) else {
          try reader.skip(tag)
          continue
        }
        elements.append(try value([try range(&reader, in: part)], isElement: true, depth: depth))
      }
    }
    return elements
  }

  private func geoPoint(_ parts: Parts) throws(WireError) -> StoredGeoPoint {
    var (latitude, longitude) = (0.0, 0.0)
    for part in parts {
      var reader = try ProtobufReader(bytes.extracting(part), limits: Self.limits)
      while let tag = try reader.tag() {
        switch (tag.number, tag.type) {
        case (1, .fixed64): latitude = try reader.double()
        case (2, .fixed64): longitude = try reader.double()
        default: try reader.skip(tag)
        }
      }
    }
    return try ValueBudget.geoPoint(latitude: latitude, longitude: longitude)
  }

  private func timestamp(_ parts: Parts) throws(WireError) -> StoredTimestamp {
    var (seconds, nanos): (Int64, Int32) = (0, 0)
    for part in parts {
      var reader = try ProtobufReader(bytes.extracting(part), limits: Self.limits)
      while let tag = try reader.tag() {
        switch (tag.number, tag.type) {
        case (1, .varint): seconds = Int64(bitPattern: try reader.varint())
        case (2, .varint): nanos = Int32(truncatingIfNeeded: try reader.varint())
        default: try reader.skip(tag)
        }
      }
    }
    return try ValueBudget.timestamp(seconds: seconds, nanos: nanos)
  }
}

extension StoredReference {
  init(_ name: ResourceName) {
    self.init(
      projectID: name.projectID, databaseID: name.databaseID, path: DocumentPath(unchecked: name.segments))
  }
}

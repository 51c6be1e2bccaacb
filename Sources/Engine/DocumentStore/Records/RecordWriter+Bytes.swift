// Writes names, texts, references and vectors that are bytes of a message, without creating strings.
//
// The bytes come from outside. A function returns false if they are not what it writes: text that is not
// UTF-8, or a reference whose path needs a closer look. The record is then incomplete, and the caller drops
// it.

import ByteStore

extension RecordWriter {
  /// Begins a field, whose value follows. Returns false if the name is not UTF-8.
  package mutating func field(utf8 name: RawSpan, in map: OpenMap) -> Bool {
    if let slot = map.slot(of: name) {
      beginField(slot: slot, in: map)
      return true
    }
    guard let name = String(record: name) else { return false }
    otherNames.append(name)
    beginField(slot: ~(otherNames.count - 1), in: map)
    return true
  }

  /// Writes a text. Returns false if it is not UTF-8.
  package mutating func string(utf8 text: RawSpan) -> Bool {
    guard UTF8Check.isValid(text) else { return false }
    guard !leavesOut(bytes: text.byteCount) else { return true }
    bytes.append(RecordCodec.Tag.string.rawValue)
    bytes.append(contentsOf: text)
    size &+= text.byteCount &+ 1
    return true
  }

  /// Writes a reference, whose path is the text with slashes between its names. Returns false if a name may
  /// be invalid.
  package mutating func reference(project: RawSpan, database: RawSpan, path: RawSpan) -> Bool {
    guard Self.isPlainPath(path), UTF8Check.isValid(path), UTF8Check.isValid(project),
      UTF8Check.isValid(database)
    else { return false }
    guard !leavesOut(bytes: 0) else { return true }
    bytes.append(RecordCodec.Tag.reference.rawValue)
    append(sized: project)
    append(sized: database)
    bytes.append(contentsOf: path)
    // A path has one slash less than names, and each name counts one byte more than it has.
    size &+= PathError.pathBytesOverhead &+ path.byteCount &+ 1
    return true
  }

  private mutating func append(sized name: RawSpan) {
    bytes.append(varint: name.byteCount)
    bytes.append(contentsOf: name)
  }

  /// Whether the path is certainly that of a document. False for some valid paths with unusual names.
  private static func isPlainPath(_ path: RawSpan) -> Bool {
    guard path.byteCount < PathError.pathBytesMax - PathError.pathBytesOverhead else { return false }
    var names = 0
    var start = 0
    for offset in 0...path.byteCount {
      if offset < path.byteCount, path.byte(at: offset) != UInt8(ascii: "/") { continue }
      guard offset > start, offset &- start <= PathError.nameBytesMax else { return false }
      // Names that begin with a dot or an underscore may be reserved.
      let first = path.byte(at: start)
      guard first != UInt8(ascii: "."), first != UInt8(ascii: "_") else { return false }
      names &+= 1
      start = offset &+ 1
    }
    return names & 1 == 0 && names <= PathError.segmentsMax
  }

  /// Begins a vector. Its elements must follow, and then `endVector`.
  package mutating func beginVector() { bytes.append(RecordCodec.Tag.vector.rawValue) }

  package mutating func vectorElement(bits: UInt64) {
    bytes.append(word: bits)
    size &+= 8
  }

  package mutating func endVector(count: Int) {
    if count > FieldLimits.vectorDimensionsMax { noteViolation() }
  }
}

extension RecordWriter.OpenMap {
  /// The slot of a name in the expected shape; nil if that shape lacks the name.
  @inline(__always)
  fileprivate func slot(of name: RawSpan) -> Int? { shape.flatMap { $0.slot(of: name) } }
}

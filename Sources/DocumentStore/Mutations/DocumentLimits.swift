// What a document may hold, checked before anything is written.

/// The limits of one document, and the arithmetic of its size.
enum DocumentLimits {
  static let documentBytesMax = 1 << 20
  static let commitBytesMax = 10 << 20
  static let fieldValueBytesMax = (1 << 20) - 89
  static let fieldNameBytesMax = RecordCodec.nameBytesMax
  static let depthMax = RecordCodec.depthMax

  static func check(_ document: StoredDocument) throws(DocumentStoreError) {
    var total = nameBytes(document.path) + 32
    for (name, value) in document.fields.entries {
      let size = try bytes(of: value, depth: 0, at: document.path)
      try require(size, fieldValueBytesMax, "The value of field \"\(name)\"", document.path)
      total += try bytes(ofName: name, at: document.path) + size
    }
    try require(total, documentBytesMax, "The document", document.path)
  }

  /// Before a transform makes its maps: they are as many as its names, less one.
  static func check(_ mutation: Mutation) throws(DocumentStoreError) {
    guard case .set(_, let transforms) = mutation.change else { return }
    for transform in transforms { try checkDepth(transform.field.count - 1, at: mutation.path) }
  }

  static func checkCommit(bytes: Int) throws(DocumentStoreError) {
    guard bytes > commitBytesMax else { return }
    throw .invalidArgument("The commit has \(bytes) bytes, and the limit is \(commitBytesMax).")
  }

  private static func bytes(
    of value: StoredValue, depth: Int, at path: DocumentPath
  ) throws(DocumentStoreError) -> Int {
    switch value {
    case .null, .boolean: return 1
    case .integer, .double, .timestamp: return 8
    case .string(let text): return text.utf8.count + 1
    case .bytes(let bytes): return bytes.count
    case .reference(let reference):
      try checkName(of: reference, at: path)
      return nameBytes(reference.path)
    case .geoPoint: return 16
    case .vector(let elements): return 8 * elements.count
    case .array(let elements):
      try checkDepth(depth + 1, at: path)
      var total = 0
      for element in elements { total += try bytes(of: element, depth: depth + 1, at: path) }
      return total
    case .map(let map):
      try checkDepth(depth + 1, at: path)
      var total = 32
      for (name, value) in map.entries {
        total += try bytes(ofName: name, at: path) + bytes(of: value, depth: depth + 1, at: path)
      }
      return total
    }
  }

  private static func bytes(
    ofName name: String, at path: DocumentPath
  ) throws(DocumentStoreError) -> Int {
    try require(name.utf8.count, fieldNameBytesMax, "A field's name", path)
    return name.utf8.count + 1
  }

  private static func nameBytes(_ path: DocumentPath) -> Int {
    path.segments.reduce(PathError.pathBytesOverhead) { $0 + $1.utf8.count + 1 }
  }

  private static func checkName(
    of reference: StoredReference, at path: DocumentPath
  ) throws(DocumentStoreError) {
    do throws(PathError) {
      try reference.path.check()
    } catch {
      throw .invalidArgument("\(error) (in document \(path))")
    }
  }

  private static func checkDepth(_ depth: Int, at path: DocumentPath) throws(DocumentStoreError) {
    guard depth > depthMax else { return }
    throw .invalidArgument("Maps and arrays may be nested \(depthMax) deep. (in document \(path))")
  }

  private static func require(
    _ found: Int, _ limit: Int, _ what: String, _ path: DocumentPath
  ) throws(DocumentStoreError) {
    guard found > limit else { return }
    throw .invalidArgument("\(what) has \(found) bytes, and the limit is \(limit). (in document \(path))")
  }
}

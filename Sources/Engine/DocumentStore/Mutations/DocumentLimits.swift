// Limits on documents and requests, checked before anything is written.

import ByteStore

/// The limits on one document and one request, and the size computations for them.
package enum DocumentLimits {
  static let documentBytesMax = 1 << 20
  /// Limits the request, not its effects: incrementing a number in each of a hundred large documents is a
  /// small request. The byte store limits how much a commit may write.
  static let requestBytesMax = 10 << 20
  static let fieldValueBytesMax = FieldLimits.valueBytesMax
  static let fieldNameBytesMax = FieldLimits.nameBytesMax
  static let fieldPathBytesMax = StoredFieldPath.bytesMax
  static let depthMax = FieldLimits.depthMax
  static let vectorDimensionsMax = FieldLimits.vectorDimensionsMax
  /// The maximum number of field transforms per document in one commit.
  static let transformsMax = 500

  /// Checks the final state of a document. Returns its size.
  @discardableResult
  package static func check(_ document: StoredDocument) throws(DocumentStoreError) -> Int {
    do throws(Refusal) {
      return try bytes(of: document.fields, in: document.path)
    } catch {
      throw error.error(in: document.path)
    }
  }

  /// Checks a document from a remote, a bundle or another source outside this process. A cache stores such a
  /// document unchanged. Therefore this function also checks properties that a commit need not check: the
  /// path, pending times, and the size of the record.
  package static func checkForeign(_ document: StoredDocument) throws(DocumentStoreError) {
    try checkKey(of: document.path)
    do throws(PathError) { try document.path.check() } catch { throw .invalidArgument(error.description) }
    // This check comes first, because it bounds the recursion of the checks below.
    try check(document)
    do throws(Refusal) {
      if holdsPendingTime(.map(document.fields)) {
        throw Refusal("A time that is still pending cannot come from outside")
      }
      // The check above does not count empty values and the project names in references.
      try require(document.fields.recordBytesMax, recordBytesMax, "The record of the document")
    } catch {
      throw error.error(in: document.path)
    }
  }

  /// Checks a field value that a remote has computed.
  package static func checkForeign(
    _ value: StoredValue, at field: StoredFieldPath, in path: DocumentPath
  ) throws(DocumentStoreError) {
    do throws(Refusal) {
      try require(try bytes(of: value, at: field), fieldValueBytesMax, "The value")
      if holdsPendingTime(value) { throw Refusal("A time that is still pending cannot come from outside") }
      try require(StoredMap([("v", value)]).recordBytesMax, recordBytesMax, "The record of the value")
    } catch {
      throw error.error(in: path)
    }
  }

  /// Checks that the key of a path is not too long. The path may be a reserved path.
  package static func checkKey(of path: DocumentPath) throws(DocumentStoreError) {
    let bytes = path.segments.isEmpty ? 0 : DocumentKey.encode(path).count
    guard bytes > Batch.keyBytesMax else { return }
    throw .invalidArgument("The key of a document has \(bytes) bytes, and the limit is \(Batch.keyBytesMax).")
  }

  /// The maximum size of the fields in a record. The rest of the largest stored value is room for the head of
  /// the record.
  private static let recordBytesMax = Batch.valueBytesMax - 1024

  /// Whether a value contains a pending time. The caller must have checked the depth of the value.
  private static func holdsPendingTime(_ value: StoredValue) -> Bool {
    switch value {
    case .pendingTimestamp: true
    case .array(let elements): elements.contains(where: holdsPendingTime)
    case .map(let map): map.entries.contains { holdsPendingTime($0.value) }
    case .null, .boolean, .integer, .double, .timestamp, .string, .bytes, .reference, .geoPoint, .vector:
      false
    }
  }

  /// Checks everything in the mutation that does not depend on the stored document, and returns the
  /// mutation's size in the request. Paths and values are checked before any recursion over them.
  package static func check(_ mutation: Mutation) throws(DocumentStoreError) -> Int {
    do throws(Refusal) {
      var total: Int
      switch mutation.change {
      case .set(let fields, _): total = try bytes(of: fields, in: mutation.path)
      case .patch(let fields, let mask, _):
        total = FieldLimits.size(of: mutation.path)
        for path in mask.paths { total += try bytes(of: fields[path], at: path) }
      // A placed document was within the limits at its source, or is not a user document.
      case .delete, .verify, .place: total = FieldLimits.size(of: mutation.path)
      }
      for transform in mutation.transforms {
        total += try bytes(of: transform.operation.operand, at: transform.field)
      }
      return total
    } catch {
      throw error.error(in: mutation.path)
    }
  }

  /// Checks the size of a document whose fields are a record within all other limits. Returns the size.
  static func check(_ record: CheckedRecord, in path: DocumentPath) throws(DocumentStoreError) -> Int {
    // A record that a reader has checked has no size yet.
    guard let size = record.checkedSize else {
      return try check(Mutation.set(path, StoredMap(record)))
    }
    let total = FieldLimits.size(of: path) + 32 + size
    do throws(Refusal) {
      try require(total, documentBytesMax, "The document")
    } catch {
      throw error.error(in: path)
    }
    return total
  }

  /// Checks a field path before a map is built from it. The commit checks paths only later.
  static func check(_ field: StoredFieldPath, in path: DocumentPath) throws(DocumentStoreError) {
    do throws(Refusal) { try check(field) } catch { throw error.error(in: path) }
  }

  static func check(transforms count: Int, of path: DocumentPath) throws(DocumentStoreError) {
    guard count > transformsMax else { return }
    throw Refusal("The commit has \(count) field transforms, and the limit is \(transformsMax)")
      .error(in: path)
  }

  static func checkRequest(bytes: Int) throws(DocumentStoreError) {
    guard bytes > requestBytesMax else { return }
    throw .invalidArgument("The request has \(bytes) bytes, and the limit is \(requestBytesMax).")
  }

  // MARK: Values

  /// Returns the size of a whole document. Throws if the document or one of its fields exceeds its limit.
  private static func bytes(of fields: StoredMap, in path: DocumentPath) throws(Refusal) -> Int {
    var total = FieldLimits.size(of: path) + 32
    if let size = fields.record?.firestoreBytes {
      // The encoder, or a walk over the record, has checked everything else.
      total += size
      try require(total, documentBytesMax, "The document")
      return total
    }
    // Use the buffer, because iterating over the array would retain and release every name and value.
    try unsafe fields.entries.withUnsafeBufferPointer { entries throws(Refusal) in
      for place in entries.indices {
        let name = unsafe entries.name(at: place)
        try unsafe checkName(name.pointee)
        let size: Int
        do throws(Refusal) {
          size = try unsafe bytes(of: entries[place].value, depth: 0)
        } catch {
          throw unsafe error.inside(name.pointee)
        }
        try unsafe require(size, fieldValueBytesMax, "The value of field \"\(name.pointee)\"")
        total += unsafe name.pointee.utf8.count + 1 + size
      }
    }
    try require(total, documentBytesMax, "The document")
    return total
  }

  /// The size of a field that a mutation writes. `value` is nil for a removal.
  private static func bytes(of value: StoredValue?, at path: StoredFieldPath) throws(Refusal) -> Int {
    try check(path)
    let size = path.byteCount + 1
    guard let value else { return size }
    let depth = path.names.count - 1
    do throws(Refusal) {
      try checkDepth(depth)
      return try size + bytes(of: value, depth: depth)
    } catch {
      throw error.inside(path)
    }
  }

  /// `depth` is the number of maps and arrays around the value.
  private static func bytes(of value: StoredValue, depth: Int) throws(Refusal) -> Int {
    switch value {
    case .null, .boolean: return 1
    case .integer, .double, .timestamp: return 8
    case .pendingTimestamp(_, let previous):
      guard let previous else { return 8 }
      // A record with nested pending times could be written, but not decoded.
      if case .pendingTimestamp = previous { throw Refusal("A pending time cannot be inside another") }
      // The previous value must be within the limits by itself. It does not add to the size of the pending
      // time.
      try require(
        try bytes(of: previous, depth: depth), fieldValueBytesMax, "The value before a pending time")
      return 8
    case .string(let text): return text.utf8.count + 1
    case .bytes(let bytes): return bytes.count
    case .reference(let reference): return try bytes(of: reference)
    case .geoPoint: return 16
    case .vector(let elements):
      guard elements.count > vectorDimensionsMax else { return 8 * elements.count }
      throw Refusal(
        "A vector has \(elements.count) dimensions, and the limit is \(vectorDimensionsMax)", field: [])
    case .array(let elements):
      return try bytes(of: elements, depth: depth)
    case .map(let map):
      try checkDepth(depth + 1)
      var total = 32
      for (name, value) in map.entries {
        try checkName(name)
        do throws(Refusal) {
          total += try name.utf8.count + 1 + bytes(of: value, depth: depth + 1)
        } catch {
          throw error.inside(name)
        }
      }
      return total
    }
  }

  private static func bytes(of elements: [StoredValue], depth: Int) throws(Refusal) -> Int {
    try checkDepth(depth + 1)
    var total = 0
    for element in elements {
      if case .array = element { throw Refusal("Nested arrays are not supported") }
      do throws(Refusal) {
        total += try bytes(of: element, depth: depth + 1)
      } catch {
        throw error.insideArray()
      }
    }
    return total
  }

  private static func bytes(of reference: StoredReference) throws(Refusal) -> Int {
    do throws(PathError) { try reference.path.check() } catch { throw Refusal("\(error)", field: []) }
    return FieldLimits.size(of: reference.path)
  }

  // MARK: Names

  private static func check(_ path: StoredFieldPath) throws(Refusal) {
    try require(path.byteCount, fieldPathBytesMax, "A field's path")
    for name in path.names {
      do throws(Refusal) { try checkName(name) } catch { throw Refusal(error.what, field: path.names) }
    }
  }

  private static func checkName(_ name: String) throws(Refusal) {
    try require(name.utf8.count, fieldNameBytesMax, "A field's name")
    guard name.firstInUTF8 != nil else {
      throw Refusal("Invalid data. Document fields must not be empty", field: [name])
    }
    guard FieldLimits.isReserved(name) else { return }
    throw Refusal("Invalid data. Document fields cannot begin and end with \"__\"", field: [name])
  }

  // MARK: Numbers

  private static func checkDepth(_ depth: Int) throws(Refusal) {
    guard depth > depthMax else { return }
    throw Refusal("Maps and arrays may be nested \(depthMax) deep", field: [])
  }

  /// `what` is an autoclosure, because building the message for every check would dominate the cost of a
  /// write.
  private static func require(
    _ found: Int, _ limit: Int, _ what: @autoclosure () -> String
  ) throws(Refusal) {
    guard found > limit else { return }
    throw Refusal("\(what()) has \(found) bytes, and the limit is \(limit)")
  }
}

/// A violated limit, and the path of the field, relative to the map or array being checked.
private struct Refusal: Error {
  let what: String
  /// Nil if no field should be named, because array elements have no path.
  let field: [String]?

  init(_ what: String, field: [String]? = nil) {
    self.what = what
    self.field = field
  }

  func inside(_ name: String) -> Refusal { Refusal(what, field: field.map { [name] + $0 }) }

  func inside(_ path: StoredFieldPath) -> Refusal { Refusal(what, field: field.map { path.names + $0 }) }

  func insideArray() -> Refusal { Refusal(what) }

  func error(in path: DocumentPath) -> DocumentStoreError {
    let field = field.map { " in field \(StoredFieldPath.canonical($0))" } ?? ""
    return .invalidArgument("\(what) (found\(field) in document \(path))")
  }
}

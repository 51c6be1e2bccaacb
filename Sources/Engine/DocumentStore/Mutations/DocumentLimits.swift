// What a document may hold and a request may ask for, checked before anything is written.

import ByteStore

/// The limits of one document and of one request, and the arithmetic of sizes.
package enum DocumentLimits {
  static let documentBytesMax = 1 << 20
  /// Of all that a commit is asked for, not of what becomes of it: adding one to a number in each of a
  /// hundred large documents asks for little. How much a commit may write is ByteStore's to say.
  static let requestBytesMax = 10 << 20
  static let fieldValueBytesMax = (1 << 20) - 89
  static let fieldNameBytesMax = RecordCodec.nameBytesMax
  static let fieldPathBytesMax = StoredFieldPath.bytesMax
  static let depthMax = RecordCodec.depthMax
  static let vectorDimensionsMax = 2048
  /// Of one document in one commit.
  static let transformsMax = 500

  /// Checks a document as a commit leaves it.
  package static func check(_ document: StoredDocument) throws(DocumentStoreError) {
    do throws(Refusal) {
      _ = try bytes(of: document.fields, in: document.path)
    } catch {
      throw error.error(in: document.path)
    }
  }

  /// Checks a document of a remote, a bundle or another source outside this process. A cache stores such a document
  /// as it is, so this also covers what no commit would check: the path, pending times, and the bytes of its record.
  package static func checkForeign(_ document: StoredDocument) throws(DocumentStoreError) {
    try checkKey(of: document.path)
    do throws(PathError) { try document.path.check() } catch { throw .invalidArgument(error.description) }
    // First, since it bounds the recursion of the others.
    try check(document)
    do throws(Refusal) {
      if holdsPendingTime(.map(document.fields)) {
        throw Refusal("A time that is still pending cannot come from outside")
      }
      // Values without bytes of their own, and the names of projects, count nothing above.
      try require(document.fields.recordBytesMax, recordBytesMax, "The record of the document")
    } catch {
      throw error.error(in: document.path)
    }
  }

  /// Checks a value that a remote has computed for a field.
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

  /// Checks that a document can be stored under this path, also where the path is one of the store's own.
  package static func checkKey(of path: DocumentPath) throws(DocumentStoreError) {
    let bytes = path.segments.isEmpty ? 0 : DocumentKey.encode(path).count
    guard bytes > Batch.keyBytesMax else { return }
    throw .invalidArgument("The key of a document has \(bytes) bytes, and the limit is \(Batch.keyBytesMax).")
  }

  /// Room for the head of a record is left in the largest value.
  private static let recordBytesMax = Batch.valueBytesMax - 1024

  /// Searches a value whose depth was checked.
  private static func holdsPendingTime(_ value: StoredValue) -> Bool {
    switch value {
    case .pendingTimestamp: true
    case .array(let elements): elements.contains(where: holdsPendingTime)
    case .map(let map): map.entries.contains { holdsPendingTime($0.value) }
    case .null, .boolean, .integer, .double, .timestamp, .string, .bytes, .reference, .geoPoint, .vector:
      false
    }
  }

  /// Checks all that the mutation says, whatever document it will meet, and returns its share of the
  /// request. No recursion follows a path or a value unchecked.
  package static func check(_ mutation: Mutation) throws(DocumentStoreError) -> Int {
    do throws(Refusal) {
      var total: Int
      switch mutation.change {
      case .set(let fields, _): total = try bytes(of: fields, in: mutation.path)
      case .patch(let fields, let mask, _):
        total = nameBytes(mutation.path)
        for path in mask.paths { total += try bytes(of: fields[path], at: path) }
      // What is placed was within the limits where it comes from, or is no document of a user.
      case .delete, .verify, .place: total = nameBytes(mutation.path)
      }
      for transform in mutation.transforms {
        total += try bytes(of: transform.operation.operand, at: transform.field)
      }
      return total
    } catch {
      throw error.error(in: mutation.path)
    }
  }

  /// For paths that become maps before a store sees them.
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

  /// A whole document. Its fields each have a limit of their own.
  private static func bytes(of fields: StoredMap, in path: DocumentPath) throws(Refusal) -> Int {
    var total = nameBytes(path) + 32
    // What lies in an array would be counted as referred to, each name and value for itself.
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

  /// A field that a write names, and what it puts there, which makes the maps on its way.
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

  /// `depth` counts the maps and arrays around the value.
  private static func bytes(of value: StoredValue, depth: Int) throws(Refusal) -> Int {
    switch value {
    case .null, .boolean: return 1
    case .integer, .double, .timestamp: return 8
    case .pendingTimestamp(_, let previous):
      guard let previous else { return 8 }
      // A record could be written with one, and never be read again.
      if case .pendingTimestamp = previous { throw Refusal("A pending time cannot be inside another") }
      // The value before was within the limits by itself, and does not count beside the value now.
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
    return nameBytes(reference.path)
  }

  private static func nameBytes(_ path: DocumentPath) -> Int {
    var total = PathError.pathBytesOverhead
    for place in path.segments.indices { total += path.segments[place].utf8.count + 1 }
    return total
  }

  // MARK: Names

  private static func check(_ path: StoredFieldPath) throws(Refusal) {
    try require(path.byteCount, fieldPathBytesMax, "A field's path")
    for name in path.names {
      do throws(Refusal) { try checkName(name) } catch { throw Refusal(error.what, field: path.names) }
    }
  }

  private static func checkName(_ name: String) throws(Refusal) {
    let bytes = name.utf8
    try require(bytes.count, fieldNameBytesMax, "A field's name")
    guard let first = name.firstInUTF8 else {
      throw Refusal("Invalid data. Document fields must not be empty", field: [name])
    }
    // Most names do not begin with an underscore: one look decides.
    guard first == UInt8(ascii: "_") else { return }
    let underscores = "__".utf8
    guard bytes.starts(with: underscores), bytes.suffix(2).elementsEqual(underscores) else { return }
    throw Refusal("Invalid data. Document fields cannot begin and end with \"__\"", field: [name])
  }

  // MARK: Numbers

  private static func checkDepth(_ depth: Int) throws(Refusal) {
    guard depth > depthMax else { return }
    throw Refusal("Maps and arrays may be nested \(depthMax) deep", field: [])
  }

  /// `what` is put together only where there is something to say: most of a write's time went there once.
  private static func require(
    _ found: Int, _ limit: Int, _ what: @autoclosure () -> String
  ) throws(Refusal) {
    guard found > limit else { return }
    throw Refusal("\(what()) has \(found) bytes, and the limit is \(limit)")
  }
}

/// What is wrong, and with which field, seen from the map or array that is being looked at.
private struct Refusal: Error {
  let what: String
  /// Nil if no field is to be named: elements of arrays have no path.
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

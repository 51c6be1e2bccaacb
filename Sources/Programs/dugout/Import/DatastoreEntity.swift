// The documents of an export, encoded as Datastore entities.
//
//   Entity         13 key: Reference, 14 and 15 property: Property (15: without an index), repeated
//   Reference      13 app, 14 path: Path, 23 database
//   Path           1 element: group { 2 kind, 3 id, 4 name }, repeated
//   Property       1 meaning, 3 name, 4 multiple, 5 value: Value
//   Value          1 int64, 2 boolean, 3 string, 4 double, 5 point: group { 6 x, 7 y },
//                  12 reference: group { 13 app, 14 element: group { 15 kind, 16 id, 17 name } …,
//                  23 database }
//
// `meaning` selects the type where the encoding of the value is ambiguous. The elements of an array, and
// the numbers of a vector, are repeated properties of one name with `multiple` set. A map is an entity
// without a key, encoded in the bytes of a string. The emulator exports vectors with a `meaning` of their
// own; the map form of other interfaces is read as well.

import DocumentStore

enum DatastoreEntity {
  enum Meaning {
    static let time: UInt64 = 7
    static let point: UInt64 = 9
    static let blob: UInt64 = 14
    static let byteString: UInt64 = 16
    static let entity: UInt64 = 19
    static let emptyList: UInt64 = 24
    static let vector: UInt64 = 31
  }

  static func document(_ record: [UInt8]) throws(ProtobufProblem) -> (path: DocumentPath, fields: StoredMap) {
    let fields = try ProtobufReader.fields(record)
    guard case .bytes(let key)? = fields.first(where: { $0.number == 13 })?.value else {
      throw ProtobufProblem("an entity has no key")
    }
    var segments: [String] = []
    for case (14, .bytes(let path)) in try ProtobufReader.fields(key) {
      segments += try self.segments(
        ProtobufReader.fields(path), element: 1, numbers: (kind: 2, id: 3, name: 4))
    }
    do { return (try DocumentPath(segments), try map(fields, depth: 0)) } catch let problem as ProtobufProblem
    {
      throw problem
    } catch {
      throw ProtobufProblem("\(error)")
    }
  }

  /// The project in the key of an entity, without the letters that name its place, as in `dev~shop`.
  static func project(_ record: [UInt8]) throws(ProtobufProblem) -> String? {
    for case (13, .bytes(let key)) in try ProtobufReader.fields(record) {
      for case (13, .bytes(let app)) in try ProtobufReader.fields(key) {
        return try text(app).split(separator: "~").last.map(String.init)
      }
    }
    return nil
  }

  private static func segments(
    _ fields: [(number: Int, value: ProtobufReader.Value)], element: Int,
    numbers: (kind: Int, id: Int, name: Int)
  ) throws(ProtobufProblem) -> [String] {
    var segments: [String] = []
    for case (element, .group(let bytes)) in fields {
      var (kind, name) = ("", "")
      for (number, value) in try ProtobufReader.fields(bytes) {
        switch (number, value) {
        case (numbers.kind, .bytes(let bytes)): kind = try text(bytes)
        case (numbers.name, .bytes(let bytes)): name = try text(bytes)
        case (numbers.id, .varint(let id)): name = "__id\(Int64(bitPattern: id))__"
        default: break
        }
      }
      segments += [kind, name]
    }
    return segments
  }

  // MARK: Values

  private struct Property {
    var name = ""
    var meaning: UInt64 = 0
    var isMultiple = false
    var value: [UInt8] = []

    init(_ bytes: [UInt8]) throws(ProtobufProblem) {
      for (number, value) in try ProtobufReader.fields(bytes) {
        switch (number, value) {
        case (1, .varint(let number)): meaning = number
        case (3, .bytes(let bytes)): name = try text(bytes)
        case (4, .varint(let flag)): isMultiple = flag != 0
        case (5, .bytes(let bytes)): self.value = bytes
        default: break
        }
      }
    }
  }

  private static func map(
    _ fields: [(number: Int, value: ProtobufReader.Value)], depth: Int
  ) throws(ProtobufProblem) -> StoredMap {
    guard depth < ProtobufReader.depthMax else { throw ProtobufProblem("a record is nested too deeply") }
    var names: [String] = []
    // Keyed by bytes, because canonically equivalent names are different fields.
    var values: [[UInt8]: StoredValue] = [:]
    for (number, content) in fields where number == 14 || number == 15 {
      guard case .bytes(let bytes) = content else { continue }
      let property = try Property(bytes)
      let name = property.name
      let key = Array(name.utf8)
      if values[key] == nil { names.append(name) }
      guard property.meaning != Meaning.emptyList else {
        values[key] = .array([])
        continue
      }
      let value = try value(property, depth)
      guard property.meaning != Meaning.vector else {
        values[key] = .vector(try vector(values.removeValue(forKey: key), value, name: name))
        continue
      }
      guard property.isMultiple else {
        values[key] = value
        continue
      }
      var elements: [StoredValue] = []
      if case .array(let before)? = values[key] { elements = before }
      // The array is removed from `values` while it grows. Otherwise a second reference to it would force a
      // copy.
      values[key] = nil
      elements.append(value)
      values[key] = .array(elements)
    }
    return StoredMap(names.map { ($0, values[Array($0.utf8)] ?? .null) })
  }

  /// Appends the next number to a vector.
  private static func vector(
    _ before: StoredValue?, _ value: StoredValue, name: String
  ) throws(ProtobufProblem) -> [Double] {
    var numbers: [Double] = []
    if case .vector(let some)? = before { numbers = some }
    if case .null = value { return numbers }
    guard let number = VectorMap.number(value) else {
      throw ProtobufProblem("the field \(name) is a vector with something other than numbers")
    }
    numbers.append(number)
    return numbers
  }

  private static func value(_ property: Property, _ depth: Int) throws(ProtobufProblem) -> StoredValue {
    // A value without any field is null.
    guard let (number, content) = try ProtobufReader.fields(property.value).last else { return .null }
    switch (number, content) {
    case (1, .varint(let bits)):
      let integer = Int64(bitPattern: bits)
      guard property.meaning == Meaning.time else { return .integer(integer) }
      guard let time = StoredTimestamp(microseconds: integer) else {
        throw ProtobufProblem("the field \(property.name) has an invalid time")
      }
      return .timestamp(time)
    case (2, .varint(let flag)): return .boolean(flag != 0)
    case (3, .bytes(let bytes)):
      switch property.meaning {
      case Meaning.blob, Meaning.byteString: return .bytes(bytes)
      case Meaning.entity: return VectorMap.value(of: try map(ProtobufReader.fields(bytes), depth: depth + 1))
      default: return .string(try text(bytes))
      }
    case (4, .fixed64(let bits)): return .double(Double(bitPattern: bits))
    case (5, .group(let bytes)): return try place(bytes, property.name)
    case (12, .group(let bytes)): return try reference(bytes, property.name)
    default: throw ProtobufProblem("the field \(property.name) has a value of an unknown type")
    }
  }

  private static func place(_ bytes: [UInt8], _ name: String) throws(ProtobufProblem) -> StoredValue {
    var (latitude, longitude) = (0.0, 0.0)
    for (number, value) in try ProtobufReader.fields(bytes) {
      switch (number, value) {
      case (6, .fixed64(let bits)): latitude = Double(bitPattern: bits)
      case (7, .fixed64(let bits)): longitude = Double(bitPattern: bits)
      default: break
      }
    }
    guard let point = StoredGeoPoint(latitude: latitude, longitude: longitude) else {
      throw ProtobufProblem("the field \(name) has an invalid geo point")
    }
    return .geoPoint(point)
  }

  private static func reference(_ bytes: [UInt8], _ name: String) throws(ProtobufProblem) -> StoredValue {
    let fields = try ProtobufReader.fields(bytes)
    var (project, database) = ("", "")
    for (number, value) in fields {
      switch (number, value) {
      // The value has the form `region~project`, so only the part after the tilde is used.
      case (13, .bytes(let bytes)): project = String(try text(bytes).split(separator: "~").last ?? "")
      case (23, .bytes(let bytes)): database = try text(bytes)
      default: break
      }
    }
    let segments = try segments(fields, element: 14, numbers: (kind: 15, id: 16, name: 17))
    guard let path = try? DocumentPath(segments) else {
      throw ProtobufProblem(
        "the field \(name) refers to \(segments.joined(separator: "/")), which is not a document")
    }
    return .reference(
      StoredReference(projectID: project, databaseID: database.isEmpty ? "(default)" : database, path: path))
  }

  private static func text(_ bytes: [UInt8]) throws(ProtobufProblem) -> String {
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw ProtobufProblem("a string is not UTF-8")
    }
    return text
  }
}

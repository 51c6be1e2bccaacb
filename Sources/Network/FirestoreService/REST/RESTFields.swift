// Composes the JSON of a request from the parts of a REST request.

internal import ByteStore
internal import FirestoreWire
internal import OfflineSync

/// The fields of a JSON object, in order.
struct RESTFields {
  private var json: [UInt8] = []
  private var names: [String] = []
  /// The limits for JSON from outside.
  private let limits: WireLimits

  init(_ limits: WireLimits) { self.limits = limits }

  mutating func add(_ name: String, text: String) { add(name, checked: Self.string(text)) }

  /// Adds a field whose value is JSON from outside.
  mutating func add(_ name: String, json value: [UInt8]) throws(RemoteError) {
    add(name, checked: try RESTFields(of: value, limits) { _ in false }.message())
  }

  /// Adds a field whose value is known to be JSON.
  mutating func add(_ name: String, checked value: [UInt8]) {
    if !json.isEmpty { json.append(UInt8(ascii: ",")) }
    names.append(name)
    json += Self.string(name)
    json.append(UInt8(ascii: ":"))
    json += value
  }

  /// The object with these fields.
  func message() -> [UInt8] { [UInt8(ascii: "{")] + json + [UInt8(ascii: "}")] }

  /// The object in `body` with these fields, which replace fields of the same names. An empty body is an
  /// empty object.
  func message(around body: [UInt8]) throws(RemoteError) -> [UInt8] {
    var fields = try RESTFields(of: body, limits) { name in names.contains { FieldName.matches(name, $0) } }
    if !fields.json.isEmpty, !json.isEmpty { fields.json.append(UInt8(ascii: ",")) }
    fields.json += json
    return fields.message()
  }

  // MARK: Parameters

  mutating func add(texts names: [String], _ target: RESTTarget) {
    for name in names {
      if let value = target.last(name) { add(name, text: value) }
    }
  }

  mutating func add(number name: String, _ target: RESTTarget) throws(RemoteError) {
    guard let value = target.last(name) else { return }
    guard let number = Int32(value) else { throw Self.invalid(name, value) }
    add(name, checked: Array("\(number)".utf8))
  }

  mutating func add(boolean name: String, _ target: RESTTarget) throws(RemoteError) {
    guard let value = target.last(name) else { return }
    guard let boolean = Bool(value) else { throw Self.invalid(name, value) }
    add(name, checked: Array("\(boolean)".utf8))
  }

  mutating func add(mask name: String, _ target: RESTTarget) {
    let paths = target.values("\(name).field_paths")
    guard !paths.isEmpty else { return }
    let list = paths.map(Self.string).joined(separator: CollectionOfOne(UInt8(ascii: ",")))
    add(name, checked: Array(#"{"field_paths":["#.utf8) + list + Array("]}".utf8))
  }

  mutating func add(precondition target: RESTTarget) throws(RemoteError) {
    var condition = RESTFields(limits)
    if let value = target.last("current_document.exists") {
      guard let boolean = Bool(value) else { throw Self.invalid("current_document.exists", value) }
      condition.add("exists", checked: Array("\(boolean)".utf8))
    }
    if let value = target.last("current_document.update_time") {
      condition.add("update_time", text: value)
    }
    if !condition.json.isEmpty { add("current_document", checked: condition.message()) }
  }

  private static func invalid(_ name: String, _ value: String) -> RemoteError {
    RemoteError(.invalidArgument, "The parameter \(name) has the value \"\(shortened(value))\".")
  }

  // MARK: JSON

  /// The fields of an object, except those with certain names. Throws unless the body is one JSON object.
  private init(
    of body: [UInt8], _ limits: WireLimits, without isReplaced: (String) -> Bool
  ) throws(RemoteError) {
    self.limits = limits
    guard body.contains(where: { !Self.isSpace($0) }) else { return }
    do throws(WireError) {
      var reader = try JSONReader(body.rawSpan, limits: limits)
      guard try reader.kind() == .object else { throw WireError("The body is not a JSON object.") }
      var key = try reader.beginObject()
      while let name = key {
        let start = reader.offset
        try reader.skip()
        if !isReplaced(name) { add(name, checked: Array(body[start..<reader.offset])) }
        key = try reader.nextKey()
      }
      try reader.finish()
    } catch {
      throw RemoteError(error)
    }
  }

  private static func isSpace(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"): true
    default: false
    }
  }

  private static func string(_ text: String) -> [UInt8] {
    var writer = JSONWriter()
    writer.string(text)
    return writer.bytes
  }
}

extension RESTTarget {
  /// The values of a parameter, in order. The name is in snake case; requests may have it in camel case.
  func values(_ name: String) -> [String] {
    parameters.filter { FieldName.matches($0.key, name) }.map(\.value)
  }

  func last(_ name: String) -> String? { values(name).last }
}

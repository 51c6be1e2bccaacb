// Canonical text of a query: equal text means equal queries.
//
//   target  := path ["|cg:" group] "|f:" filter{","} "|ob:" order{","} ["|l:" count]
//              ["|o:" count] ["|lb:" gap] ["|ub:" gap]
//   query   := target "|lt:" ("f" | "l")
//   filter  := field operator value | "and(" filter{","} ")" | "or(" filter{","} ")"
//              ("and" only within "or", because top-level filters are joined by "and")
//   order   := field ("asc" | "desc") ["?"]              "?": documents without the field are included
//   gap     := ("b:" | "a:") value{","}                  before or after documents with these values
//
// All text is ASCII. Other characters are quoted and escaped, so that different texts are not canonically
// equivalent in Swift.

extension StructuredQuery {
  /// Queries with equal target ids have the same documents, possibly in reverse order.
  public var targetID: String { executableForm.text }

  /// Queries with equal ids have equal results.
  public var canonicalID: String {
    if case .last = limit { "\(targetID)|lt:l" } else { "\(targetID)|lt:f" }
  }

  /// The query must be in the form returned by `executableForm`.
  private var text: String {
    var text = scope.text + "|f:" + filters.flatMap(\.conjuncts).map(\.text).joined(separator: ",")
    text += "|ob:" + orders.map(\.text).joined(separator: ",")
    if case .first(let count) = limit { text += "|l:\(count)" }
    if offset > 0 { text += "|o:\(offset)" }
    if let start { text += "|lb:" + start.text }
    if let end { text += "|ub:" + end.text }
    return text
  }
}

extension StructuredQuery.Scope {
  fileprivate var text: String {
    switch self {
    case .collection(let collection): collection.segments.map(\.text).joined(separator: "/")
    case .collectionGroup(let id): "|cg:" + id.text
    case .document(let document): document.text
    }
  }
}

extension FilterTree {
  /// The filters that must all hold.
  fileprivate var conjuncts: [FilterTree] {
    if case .all(let parts) = self { parts.flatMap(\.conjuncts) } else { [self] }
  }

  fileprivate var text: String {
    switch self {
    case .field(let filter): "\(filter.field.text) \(filter.operator.rawValue) \(filter.operand.text)"
    case .all(let parts): "and(" + parts.map(\.text).joined(separator: ",") + ")"
    case .any(let parts): "or(" + parts.map(\.text).joined(separator: ",") + ")"
    }
  }
}

extension OrderBy {
  fileprivate var text: String {
    let direction = direction == .ascending ? "asc" : "desc"
    return "\(field.text) \(direction)" + (missing == .asNull ? "?" : "")
  }
}

extension Cursor {
  fileprivate var text: String {
    (side == .before ? "b:" : "a:") + values.map(\.text).joined(separator: ",")
  }
}

extension StoredFieldPath {
  fileprivate var text: String { names.map(\.text).joined(separator: ".") }
}

extension DocumentPath {
  fileprivate var text: String { segments.map(\.text).joined(separator: "/") }
}

extension StoredValue {
  fileprivate var text: String {
    switch self {
    case .null: "null"
    case .boolean(let flag): flag ? "true" : "false"
    case .integer(let number): "\(number)"
    // All NaNs are equal, regardless of sign and payload.
    case .double(let number): number.isNaN ? "nan" : "\(number)"
    case .timestamp(let time): "time(\(time.microseconds))"
    case .pendingTimestamp(let time, _): "pending(\(time.microseconds))"
    case .string(let text): text.quoted
    case .bytes(let bytes): "bytes(" + bytes.map { "\($0)" }.joined(separator: ",") + ")"
    case .reference(let reference):
      "ref(\(reference.projectID.quoted),\(reference.databaseID.quoted),\(reference.path.text))"
    case .geoPoint(let place): "geo(\(place.latitude),\(place.longitude))"
    case .array(let elements): "[" + elements.map(\.text).joined(separator: ",") + "]"
    case .vector(let elements):
      "vector(" + elements.map { StoredValue.double($0).text }.joined(separator: ",") + ")"
    case .map(let map):
      "{" + map.entries.map { "\($0.name.quoted):\($0.value.text)" }.joined(separator: ",") + "}"
    }
  }
}

extension String {
  /// The name itself if it consists of letters, digits, `_` and `-`; else the quoted name.
  fileprivate var text: String {
    let isPlain = utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
        true
      default: false
      }
    }
    return isPlain && !isEmpty ? self : quoted
  }

  fileprivate var quoted: String {
    "\"" + unicodeScalars.reduce(into: "") { $0 += $1.escaped(asASCII: true) } + "\""
  }
}

// Shared helpers of the coder tests.

import DocumentStore
import FirebaseCore
import FirebaseFirestore
import Testing

enum Database {
  static let firestore = make(project: "p")
  /// A reference in another database.
  static let foreign = make(project: "q")

  static let room = firestore.document("rooms/eros")

  private static func make(project: String) -> Firestore {
    let options = FirebaseOptions(googleAppID: "1:1:ios:1", gcmSenderID: "1")
    options.projectID = project
    let name = "codable-tests-\(project)"
    FirebaseApp.configure(name: name, options: options)
    guard let app = FirebaseApp.app(name: name) else { fatalError("configured above") }
    return Firestore.firestore(app: app)
  }
}

/// One field, of any type.
struct Box<Value: Codable>: Codable {
  var value: Value
}

extension Box: Equatable where Value: Equatable {}

struct OptionalBox<Value: Codable>: Codable {
  var value: Value?
}

extension Firestore.Encoder {
  /// Returns the encoded form of `value` as the only field of a box.
  func field<Value: Codable>(_ value: Value) throws -> Any? { try encode(Box(value: value))["value"] }
}

extension Firestore.Decoder {
  /// Decodes `value` as the only field of a box.
  func field<Value: Codable>(_ type: Value.Type, from value: Any) throws -> Value {
    try decode(Box<Value>.self, from: ["value": value]).value
  }

  func field<Value: Codable>(_ type: Value.Type, from value: StoredValue) throws -> Value {
    try decodeFields(
      Box<Value>.self, from: StoredMap([("value", value)]), reference: Database.room
    ).value
  }
}

/// Returns the stored form of `value` as a single field.
func stored<Value: Codable>(
  _ value: Value, encoder: Firestore.Encoder = Firestore.Encoder()
) throws -> StoredValue? {
  try encoder.encodeFields(Box(value: value)).fields["value"]
}

/// Joins the names of a coding path.
func text(_ path: [any CodingKey]) -> String { path.map(\.stringValue).joined(separator: ".") }

extension DecodingError {
  var context: Context? {
    switch self {
    case .typeMismatch(_, let context), .valueNotFound(_, let context), .keyNotFound(_, let context),
      .dataCorrupted(let context):
      context
    @unknown default: nil
    }
  }

  /// The name of the error's case.
  var name: String {
    switch self {
    case .typeMismatch: "typeMismatch"
    case .valueNotFound: "valueNotFound"
    case .keyNotFound: "keyNotFound"
    case .dataCorrupted: "dataCorrupted"
    @unknown default: "unknown"
    }
  }
}

/// Returns the case and the path of the error that `body` throws, such as `typeMismatch at a.b`.
func decodingFailure(_ body: () throws -> Void) -> String {
  do {
    try body()
    return "nothing thrown"
  } catch let error as DecodingError {
    return "\(error.name) at \(text(error.context?.codingPath ?? []))"
  } catch {
    return "\(error)"
  }
}

/// Returns the path and the message of the error that `body` throws.
func encodingFailure(_ body: () throws -> Void) -> String {
  do {
    try body()
    return "nothing thrown"
  } catch EncodingError.invalidValue(_, let context) {
    return "\(text(context.codingPath)): \(context.debugDescription)"
  } catch {
    return "\(error)"
  }
}

/// Strings that are canonically equal but differ in bytes, and strings that break escaping or splitting.
let nastyStrings = [
  "", " ", "a", "A", "a.b", "a/b", "`", "\\", "\"", "\u{0}", "a\u{0}b", "\n", "_", "_a", "__a", "a__",
  "e\u{301}", "\u{e9}", "a\u{301}\u{323}", "a\u{323}\u{301}", "\u{1F600}", "\u{FFFF}", "\u{FEFF}",
  "\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}", "\u{D55C}", "\u{1112}\u{1161}\u{11AB}", "ﷺ", "ß", "ẞ",
  "null", "true", "1", "key", "super", "Index 0", "$", "[]", "~*", "%00", "\u{202E}abc",
  String(repeating: "x", count: 15), String(repeating: "x", count: 16),
  String(repeating: "\u{e9}", count: 700),
]

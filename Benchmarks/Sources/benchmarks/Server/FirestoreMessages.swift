// The messages that the rows of the server send.

#if Server
enum FirestoreMessages {
  static let project = "demo-rows"
  static let database = "projects/\(project)/databases/(default)"
  static let service = "/google.firestore.v1.Firestore/"
  static let metadata = [
    (name: "authorization", value: "Bearer owner"), (name: "google-cloud-resource-prefix", value: database),
  ]

  static func name(_ path: String) -> String { "\(database)/documents/\(path)" }

  static func get(_ path: String) -> [UInt8] { WireBytes.field(1, name(path)) }

  /// A commit of documents of about 300 bytes each.
  static func commit(_ paths: String..., mark: String) -> [UInt8] { commit(paths, mark: mark) }

  static func commit(_ paths: [String], mark: String) -> [UInt8] {
    WireBytes.field(1, database)
      + paths.flatMap { WireBytes.field(2, WireBytes.field(1, document($0, mark: mark))) }
  }

  /// The writes of a request of a write stream.
  static func writes(_ paths: [String], mark: String) -> [UInt8] {
    paths.flatMap { WireBytes.field(3, WireBytes.field(1, document($0, mark: mark))) }
  }

  /// The request of `writes` in JSON.
  static func writesJSON(_ paths: [String], mark: String) -> String {
    let writes = paths.map { path in
      let fields =
        texts(mark).map { #""\#($0)":{"stringValue":"\#($1)"}"# } + [#""age":{"integerValue":"36"}"#]
      return #"{"update":{"name":"\#(name(path))","fields":{\#(fields.joined(separator: ","))}}}"#
    }
    return #"{"writes":[\#(writes.joined(separator: ","))]}"#
  }

  private static func texts(_ mark: String) -> [(String, String)] {
    [
      ("name", "Ada Lovelace"), ("city", "London"), ("mark", mark),
      ("text", String(repeating: "abc ", count: 40)),
    ]
  }

  /// The fields of a document for the API.
  static func fields(_ mark: String) -> [String: Any] {
    var fields: [String: Any] = ["age": 36]
    for (field, text) in texts(mark) { fields[field] = text }
    return fields
  }

  static func document(_ path: String, mark: String) -> [UInt8] {
    WireBytes.field(1, name(path))
      + texts(mark).flatMap { field, text in
        WireBytes.field(2, WireBytes.field(1, field) + WireBytes.field(2, WireBytes.field(17, text)))
      }
      + WireBytes.field(
        2, WireBytes.field(1, "age") + WireBytes.field(2, WireBytes.field(2, 36)))
  }

  /// Watches a collection at the top.
  static func listen(_ collection: String) -> [UInt8] {
    let query = WireBytes.field(2, WireBytes.field(2, collection))
    let target =
      WireBytes.field(2, WireBytes.field(1, "\(database)/documents") + WireBytes.field(2, query))
      + WireBytes.field(5, 2)
    return WireBytes.field(1, database) + WireBytes.field(2, target)
  }

  /// The request of `listen` in JSON.
  static func listenJSON(_ collection: String) -> String {
    let query = #"{"from":[{"collectionId":"\#(collection)"}]}"#
    let target = #"{"query":{"parent":"\#(database)/documents","structuredQuery":\#(query)},"targetId":2}"#
    return #"{"database":"\#(database)","addTarget":\#(target)}"#
  }

  /// Whether a message of a watch stream is about targets, and not about a document.
  static func isTargetChange(_ message: [UInt8]) -> Bool { message.first == 2 << 3 | 2 }
}
#endif

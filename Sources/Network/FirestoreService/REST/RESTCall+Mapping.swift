// From requests of the REST API to calls:
//
//   POST   /v1/{database}/documents:{verb}          a verb of a database, whose body is the request
//   POST   /v1/{parent}:{verb}                      a verb of a parent
//   GET    /v1/{document}                           GetDocument
//   GET    /v1/{parent}/{collection}                ListDocuments
//   POST   /v1/{parent}/{collection}                CreateDocument, whose body is the document
//   PATCH  /v1/{document}                           UpdateDocument, whose body is the document
//   DELETE /v1/{document}                           DeleteDocument
//
// A colon is part of a name, except before a verb of POST. There, a name can have it percent-encoded.
// Parameters are fields of the request, in any order; those of messages have a dot. Unknown ones are ignored.

package import FirestoreWire
public import OfflineSync

extension RESTCall {
  /// Maps a request to a call. Throws `notFound` if there is no such resource, and `invalidArgument` if a
  /// part of the request cannot be read. The body is not looked into, except that it must be one JSON value.
  public init(_ request: RESTRequest) throws(RemoteError) { try self.init(request, limits: .standard) }

  /// Maps a request to a call of a service with these limits.
  package init(_ request: RESTRequest, limits: WireLimits) throws(RemoteError) {
    let target = try RESTTarget(request.target, mayHaveVerb: request.method == "POST")
    var fields = RESTFields(limits)
    if let text = target.verb {
      guard let verb = RESTVerb(rawValue: text) else { throw RESTTarget.notFound }
      if verb.isOfDatabase {
        guard let database = target.name.withoutSuffix("/documents") else { throw RESTTarget.notFound }
        fields.add("database", text: database)
      } else {
        fields.add("parent", text: target.name)
      }
      self.init(verb.method, try fields.message(around: request.body))
      return
    }
    let place = try RESTPlace(target.name)
    switch (request.method, place.isDocument) {
    case ("GET", true):
      fields.add("name", text: target.name)
      fields.add(mask: "mask", target)
      fields.add(texts: ["transaction", "read_time"], target)
      self.init(.getDocument, fields.message())
    case ("GET", false):
      fields.add("parent", text: place.parent)
      fields.add("collection_id", text: place.last)
      fields.add(mask: "mask", target)
      fields.add(texts: ["page_token", "order_by", "transaction", "read_time"], target)
      try fields.add(number: "page_size", target)
      try fields.add(boolean: "show_missing", target)
      self.init(.listDocuments, fields.message())
    case ("POST", false):
      fields.add("parent", text: place.parent)
      fields.add("collection_id", text: place.last)
      fields.add(mask: "mask", target)
      fields.add(texts: ["document_id"], target)
      try fields.add("document", json: request.body)
      self.init(.createDocument, fields.message())
    case ("PATCH", _):
      var document = RESTFields(limits)
      document.add("name", text: target.name)
      fields.add("document", checked: try document.message(around: request.body))
      fields.add(mask: "mask", target)
      fields.add(mask: "update_mask", target)
      try fields.add(precondition: target)
      self.init(.updateDocument, fields.message())
    case ("DELETE", _):
      fields.add("name", text: target.name)
      try fields.add(precondition: target)
      self.init(.deleteDocument, fields.message())
    default: throw RESTTarget.notFound
    }
  }

  private init(_ method: ServiceMethod, _ request: [UInt8]) {
    self.init(method: method.rawValue, request: request, isStream: method.isStreamOfAnswers)
  }
}

/// The name of a document or of a collection in a path.
private struct RESTPlace {
  private static let depth = 5

  let isDocument: Bool
  /// The part before the last segment.
  let parent: String
  /// The last segment.
  let last: String

  init(_ name: String) throws(RemoteError) {
    let segments = name.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    guard segments.count > Self.depth, let end = segments.last else { throw RESTTarget.notFound }
    // A name with an empty segment is wrong; the error is the one for a document.
    isDocument = (segments.count - Self.depth) % 2 == 0 || segments.contains(where: \.isEmpty)
    last = String(Substring(end))
    parent = String(Substring(name.utf8.dropLast(end.count + 1)))
  }
}

extension String {
  fileprivate func withoutSuffix(_ suffix: String) -> String? {
    guard utf8.suffix(suffix.utf8.count).elementsEqual(suffix.utf8) else { return nil }
    return String(Substring(utf8.dropLast(suffix.utf8.count)))
  }
}

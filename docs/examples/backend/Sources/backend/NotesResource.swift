// Handlers for the URLs. Only this file uses the database.

import FirebaseFirestore
import Foundation

struct Note: Codable, Sendable {
  var text: String
  var tags: [String]
  var likes = 0
  /// Set by the database when the note is committed.
  @ServerTimestamp var made: Timestamp?
}

/// The body of a PUT request.
struct NewNote: Decodable {
  var text: String
  var tags: [String]?
}

/// The body of a PATCH request.
struct NoteChange: Decodable {
  var text: String?
  var tags: [String]?
}

struct NotesResource: Sendable {
  private let firestore: Firestore

  init(_ firestore: Firestore) { self.firestore = firestore }

  func answer(_ request: HTTPRequest) async -> HTTPResponse {
    do {
      return try await route(request)
    } catch FirestoreErrorCode.notFound {
      return .problem(404, "There is no such note.")
    } catch let error as DecodingError {
      return .problem(400, "A note looks like {\"text\": \"…\"}: \(error)")
    } catch {
      return .problem(Self.status(of: error), error.localizedDescription)
    }
  }

  private func route(_ request: HTTPRequest) async throws -> HTTPResponse {
    let path = request.path
    switch (request.method, path.first ?? "", path.count) {
    case ("GET", "health", 1): return try health()
    case ("GET", "notes", 1): return try await list(request.query)
    case ("GET", "notes", 2): return try await get(path[1])
    case ("PUT", "notes", 2): return try await put(path[1], request.body)
    case ("PATCH", "notes", 2): return try await patch(path[1], request.body)
    case ("DELETE", "notes", 2): return try await delete(path[1])
    case ("POST", "notes", 3) where path[2] == "likes": return try await like(path[1])
    case ("POST", "numbers", 2): return try await drawNumber(path[1])
    default: return .problem(404, "There is nothing here.")
    }
  }

  private static func status(of error: any Error) -> Int {
    switch error {
    // The client can correct a request with an invalid name or with a text that is too long.
    case FirestoreErrorCode.invalidArgument: 400
    // The database is being closed, or a transaction has waited too long. The client may try again.
    case FirestoreErrorCode.failedPrecondition, FirestoreErrorCode.aborted, FirestoreErrorCode.unavailable:
      503
    default: 500
    }
  }

  /// Answers at once, even if the disk does not.
  private func health() throws -> HTTPResponse {
    let health = firestore.health()
    return HTTPResponse(status: health.canWrite ? 200 : 503, body: try JSONEncoder().encode(health))
  }

  private func list(_ parameters: [String: String]) async throws -> HTTPResponse {
    guard let limit = Int(parameters["limit"] ?? "100"), limit <= 1000 else {
      return .problem(400, "The limit is a number up to 1000.")
    }
    let query = try firestore.validated {
      let newest = $0.collection("notes").order(by: "made", descending: true).limit(to: limit)
      guard let tag = parameters["tag"] else { return newest }
      return newest.whereField("tags", arrayContains: tag)
    }
    return .json(200, ["notes": try await query.getDocuments().documents.map(object)])
  }

  /// Throws `invalidArgument` if the client sent an invalid ID.
  private func document(_ id: String, in collection: String = "notes") throws -> DocumentReference {
    try firestore.validated { $0.collection(collection).document(id) }
  }

  private func get(_ id: String) async throws -> HTTPResponse {
    let note = try await document(id).getDocument()
    guard note.exists else { return .problem(404, "There is no such note.") }
    return .json(200, try object(note))
  }

  private func put(_ id: String, _ body: Data) async throws -> HTTPResponse {
    let new = try JSONDecoder().decode(NewNote.self, from: body)
    let note = Note(text: new.text, tags: new.tags ?? [])
    // Returns when the note is on stable storage.
    try await document(id).setData(Firestore.Encoder().encode(note))
    return try await get(id)
  }

  private func patch(_ id: String, _ body: Data) async throws -> HTTPResponse {
    let change = try JSONDecoder().decode(NoteChange.self, from: body)
    var fields: [String: Any] = [:]
    if let text = change.text { fields["text"] = text }
    if let tags = change.tags { fields["tags"] = tags }
    guard !fields.isEmpty else { return .problem(400, "A change has a text, tags or both.") }
    try await document(id).updateData(fields)
    return try await get(id)
  }

  private func delete(_ id: String) async throws -> HTTPResponse {
    try await document(id).delete()
    return HTTPResponse(status: 204)
  }

  private func like(_ id: String) async throws -> HTTPResponse {
    try await document(id).updateData(["likes": FieldValue.increment(Int64(1))])
    return try await get(id)
  }

  /// Runs a transaction, because the answer depends on the stored number. Transactions of concurrent requests
  /// wait for each other.
  private func drawNumber(_ series: String) async throws -> HTTPResponse {
    let document = try document(series, in: "series")
    let number = try await firestore.runTransaction { transaction, failure in
      do {
        let number = try transaction.getDocument(document)["next"] as? Int ?? 1
        transaction.setData(["next": number + 1], forDocument: document)
        return number
      } catch {
        failure?.pointee = error as NSError
        return nil
      }
    }
    return .json(200, ["number": number as? Int ?? 0])
  }

  private func object(_ document: DocumentSnapshot) throws -> [String: Any] {
    let note = try document.data(as: Note.self)
    return [
      "id": document.documentID, "text": note.text, "tags": note.tags, "likes": note.likes,
      "made": note.made.map { $0.dateValue().ISO8601Format() } ?? "",
    ]
  }
}

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

struct NotesResource: Sendable {
  private let firestore: Firestore
  private let notes: CollectionReference

  init(_ firestore: Firestore) {
    self.firestore = firestore
    notes = firestore.collection("notes")
  }

  func answer(_ request: HTTPRequest) async -> HTTPResponse {
    do {
      switch (request.method, request.path.count) {
      case ("GET", 1) where request.path[0] == "health": return try health()
      case ("GET", 1) where request.path[0] == "notes": return try await list(tag: request.query["tag"])
      case ("GET", 2) where request.path[0] == "notes": return try await get(request.path[1])
      case ("PUT", 2) where request.path[0] == "notes": return try await put(request.path[1], request.body)
      case ("DELETE", 2) where request.path[0] == "notes": return try await delete(request.path[1])
      case ("POST", 3) where request.path[0] == "notes" && request.path[2] == "likes":
        return try await like(request.path[1])
      default: return .problem(404, "There is nothing here.")
      }
    } catch FirestoreErrorCode.notFound {
      return .problem(404, "There is no such note.")
    } catch let error as DecodingError {
      return .problem(400, "A note looks like {\"text\": \"…\"}: \(error)")
    } catch {
      // The client can correct a request with an invalid name or with a text that is too long.
      let isMistake = FirestoreErrorCode.invalidArgument ~= error
      return .problem(isMistake ? 400 : 500, error.localizedDescription)
    }
  }

  /// Answers at once, even if the disk does not.
  private func health() throws -> HTTPResponse {
    let health = firestore.health()
    return HTTPResponse(status: health.canWrite ? 200 : 503, body: try JSONEncoder().encode(health))
  }

  private func list(tag: String?) async throws -> HTTPResponse {
    var query = notes.order(by: "made", descending: true).limit(to: 100)
    if let tag { query = query.whereField("tags", arrayContains: tag) }
    return .json(200, ["notes": try await query.getDocuments().documents.map(object)])
  }

  private func get(_ id: String) async throws -> HTTPResponse {
    let document = try await notes.document(id).getDocument()
    guard document.exists else { return .problem(404, "There is no such note.") }
    return .json(200, try object(document))
  }

  private func put(_ id: String, _ body: Data) async throws -> HTTPResponse {
    guard !id.isEmpty, !id.contains("/") else { return .problem(400, "An id is one word.") }
    let new = try JSONDecoder().decode(NewNote.self, from: body)
    let note = Note(text: new.text, tags: new.tags ?? [])
    // Returns when the note is on stable storage.
    try await notes.document(id).setData(Firestore.Encoder().encode(note))
    return try await get(id)
  }

  private func delete(_ id: String) async throws -> HTTPResponse {
    try await notes.document(id).delete()
    return HTTPResponse(status: 204)
  }

  private func like(_ id: String) async throws -> HTTPResponse {
    try await notes.document(id).updateData(["likes": FieldValue.increment(Int64(1))])
    return try await get(id)
  }

  private func object(_ document: DocumentSnapshot) throws -> [String: Any] {
    let note = try document.data(as: Note.self)
    return [
      "id": document.documentID, "text": note.text, "tags": note.tags, "likes": note.likes,
      "made": note.made.map { $0.dateValue().ISO8601Format() } ?? "",
    ]
  }
}

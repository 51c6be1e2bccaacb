// The model of a note, and all code that uses the database.

import FirebaseFirestore

struct Note: Codable, Sendable {
  @DocumentID var id: String?
  var text: String
  var tags: [String]
  var isDone: Bool
  /// Set by the database when the note is committed.
  @ServerTimestamp var made: Timestamp?

  init(text: String, tags: [String]) {
    self.text = text
    self.tags = tags
    isDone = false
  }
}

struct NoteBook {
  private let notes: CollectionReference

  init(_ firestore: Firestore) { notes = firestore.collection("notes") }

  func add(_ note: Note) async throws -> String {
    let document = notes.document()
    try await document.setData(Firestore.Encoder().encode(note))
    return document.documentID
  }

  func open() async throws -> [Note] {
    try await notes.typed(Note.self).where(\.isDone, .equals(false)).order(by: \.made).get()
  }

  func tagged(_ tag: String) async throws -> [Note] {
    try await notes.typed(Note.self).where(\.tags, .contains(tag)).order(by: \.made).get()
  }

  func finish(_ id: String) async throws { try await note(id).updateData(["isDone": true]) }

  func remove(_ id: String) async throws { try await note(id).delete() }

  /// Rejects an id that is empty or contains a slash. Such an id would form a different path, and an invalid
  /// path ends the program.
  private func note(_ id: String) throws -> DocumentReference {
    guard !id.isEmpty, !id.contains("/") else { throw FirestoreErrorCode(.notFound) }
    return notes.document(id)
  }

  /// Calls `body` with all open notes, first now and then after every change, until the task is
  /// cancelled.
  func follow(_ body: ([Note]) -> Void) async throws {
    let query = notes.typed(Note.self).where(\.isDone, .equals(false)).order(by: \.made)
    for try await snapshot in query.query.snapshots { body(try query.values(of: snapshot)) }
  }
}

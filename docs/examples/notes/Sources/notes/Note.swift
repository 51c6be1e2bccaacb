// What a note is, and everything that touches the database.

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

  func finish(_ id: String) async throws { try await notes.document(id).updateData(["isDone": true]) }

  func remove(_ id: String) async throws { try await notes.document(id).delete() }

  /// Calls `body` with all open notes, now and after every change of them, as often as it wants.
  func follow(_ body: ([Note]) -> Bool) async throws {
    let query = notes.typed(Note.self).where(\.isDone, .equals(false)).order(by: \.made)
    for try await snapshot in query.query.snapshots {
      guard body(try query.values(of: snapshot)) else { return }
    }
  }
}

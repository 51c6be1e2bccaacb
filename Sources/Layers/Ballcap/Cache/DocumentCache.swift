// The documents that this process read or committed last.
//
// Invariants:
//   - At most 1000 paths, those that were used last.
//   - Of a document that is read or committed from two sides, the later state stays; what was deleted does
//     not come back with a state that was read before.
//   - What was forgotten is as if nobody had read it: any state fills it again, the older ones too.
//   - That a document turned out not to be there makes the cache ask the database, too: a reading that found
//     nothing has no version.
//   - A state with writes that a remote has not answered is looked up in the database when somebody asks for
//     it: what was rejected is not remembered.
//   - What is read goes to a journal, since most of it is never asked for: the next one who asks brings the
//     journal into the order of use. The journal keeps the last 1000, which is all that could stay, and some
//     that were read before them.

private import ByteStore
import FirebaseFirestore
import Foundation

final class DocumentCache: Sendable {
  static let shared = DocumentCache()

  static let countMax = 1000

  fileprivate struct State {
    var entries = RecentValues<String, CachedDocument>(countMax: DocumentCache.countMax)
    var journal = ReadJournal(countMax: DocumentCache.countMax)
  }

  private let state = Locked(State())

  // MARK: Reading

  /// A dictionary is made for this call.
  func get(reference: DocumentReference) -> [String: Any]? {
    entry(reference.path, of: reference)?.dictionary
  }

  func get<T: Document<U>, U: Modelable & Codable>(
    documentType: T.Type, reference: DocumentReference
  ) -> T? {
    object(documentType, reference)
  }

  func get<T: Object>(documentType: T.Type, reference: DocumentReference) -> T? where T: DataRepresentable {
    object(documentType, reference)
  }

  private func object<T: Object & DataRepresentable>(_ type: T.Type, _ reference: DocumentReference) -> T? {
    guard let entry = entry(reference.path, of: reference),
      let model = try? entry.decode(T.Model.self, reference)
    else { return nil }
    let object = T(documentReference: reference, from: model)
    entry.setTimes(of: object)
    return object
  }

  func get<T: Codable & Modelable>(modelType: T.Type, reference: DocumentReference) throws -> T? {
    try entry(reference.path, of: reference)?.decode(modelType, reference)
  }

  func get<T: Codable & Modelable>(modelType: T.Type, path: String) throws -> T? {
    try entry(path, of: nil)?.decode(modelType, nil)
  }

  private func entry(_ path: String, of reference: DocumentReference?) -> CachedDocument? {
    let entry = state.withLock { state in
      state.settle()
      return state.entries.value(for: path)
    }
    // Two databases may have documents with the same path.
    guard let entry, entry.belongs(to: reference) else { return nil }
    guard let settled = entry.settled(at: reference) else { return entry }
    state.withLock { state in
      state.settle()
      if settled.settles(state.entries.value(for: path)) { state.entries.insert(settled, for: path) }
    }
    return settled
  }

  // MARK: Writing

  /// What an object holds, as if it had been committed. An object with values that only a commit can tell is
  /// forgotten instead. Throws if the model does not encode.
  func set<T: DataRepresentable & Documentable>(_ document: T, reference: DocumentReference? = nil) throws {
    let place: DocumentReference = reference ?? document.documentReference
    var data = try Firestore.Encoder().encode(document.data)
    guard !CachedDocument.hasUnknowns(data) else { return delete(reference: place) }
    if document.wantsTimes {
      data["createdAt"] = document.createdAt
      data["updatedAt"] = document.updatedAt
    }
    put(CachedDocument(data, place), at: place.path)
  }

  func set(key: String, data: [String: Any]) { put(CachedDocument(data, nil), at: key) }

  /// What was read; costs little.
  func note(_ snapshot: DocumentSnapshot) { state.withLock { $0.journal.add(snapshot) } }

  /// The same for many, of which the last ones count.
  func note(_ snapshots: [QueryDocumentSnapshot]) {
    state.withLock { state in
      for snapshot in snapshots.suffix(Self.countMax) { state.journal.add(snapshot) }
    }
  }

  /// What the database has once a write of it was committed, looked up at `time` or later. Somebody may have
  /// read what came after it.
  func setCommitted(_ snapshot: DocumentSnapshot?, at reference: DocumentReference, _ time: Int64) {
    // What is not known now, the database may know when somebody asks.
    let entry = snapshot.map { CachedDocument(current: $0, at: time) } ?? .unknown(reference)
    state.withLock { state in
      state.settle()
      state.insert(entry, reference.path)
    }
  }

  private func put(_ entry: CachedDocument, at path: String) {
    state.withLock { state in
      state.settle()
      state.entries.insert(entry, for: path)
    }
  }

  func delete(reference: DocumentReference) { delete(key: reference.path) }

  /// Forgets it. That the document is gone is not what this says: a commit does.
  func delete(key: String) {
    state.withLock { state in
      state.settle()
      state.entries.remove(key)
    }
  }

  func clear() { state.withLock { $0 = State() } }
}

extension DocumentCache.State {
  /// Brings what was read into the order of use.
  fileprivate mutating func settle() {
    for snapshot in journal.take() { settle(snapshot) }
  }

  private mutating func settle(_ snapshot: DocumentSnapshot) {
    let path = snapshot.reference.path
    // That something is not there is no news of what nobody knew.
    if !snapshot.exists, entries.value(for: path) == nil { return }
    insert(CachedDocument(read: snapshot), path)
  }

  /// Unless a newer state is known. Whether what is gone came again, or the clocks do not agree, is for the
  /// database to say.
  fileprivate mutating func insert(_ entry: CachedDocument, _ path: String) {
    let known = entries.value(for: path)
    if let known, known.isNewer(than: entry) {
      if entry.isAbsent { entries.insert(entry.provisional, for: path) }
      return
    }
    entries.insert(entry.replacing(known), for: path)
  }
}

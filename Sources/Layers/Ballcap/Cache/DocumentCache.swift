// An LRU cache of the documents that this process read or committed.
//
// Invariants:
// - The cache has at most 1000 paths, the most recently used ones.
// - If a document is read and committed concurrently, the newer state stays. A deleted document does not
//   return with a state that was read before the deletion.
// - A removed entry leaves no trace: any state may fill it again, even an older one.
// - The entry of an absent document is provisional, because a read that found nothing has no version.
// - A provisional state, such as one with writes that a remote has not answered, is looked up in the database
//   when it is requested. So a rejected write is not returned.
// - Reads append to a journal, because most documents that are read are never requested from the cache. The
//   next request moves the journal into the LRU order. The journal keeps the last 1000 documents, which is
//   all that the cache could keep, and some older documents.

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

  /// Returns a dictionary that is created for this call.
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
      state.applyJournal()
      return state.entries.value(for: path)
    }
    // Two databases may have documents with the same path.
    guard let entry, entry.belongs(to: reference) else { return nil }
    guard let refreshed = entry.refreshed(at: reference) else { return entry }
    state.withLock { state in
      state.applyJournal()
      if refreshed.canReplace(state.entries.value(for: path)) { state.entries.insert(refreshed, for: path) }
    }
    return refreshed
  }

  // MARK: Writing

  /// Caches the data of an object as if it had been committed. If the data contains values that only a commit
  /// computes, the entry is removed instead. Throws if the model does not encode.
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

  /// Adds to the journal a snapshot that was read.
  func note(_ snapshot: DocumentSnapshot) { state.withLock { $0.journal.add(snapshot) } }

  /// Adds to the journal the last `countMax` of these snapshots, which were read.
  func note(_ snapshots: [QueryDocumentSnapshot]) {
    state.withLock { state in
      for snapshot in snapshots.suffix(Self.countMax) { state.journal.add(snapshot) }
    }
  }

  /// Caches the state of a document after a commit. `snapshot` was looked up at `time` or later. If a newer
  /// state was read meanwhile, that newer state stays.
  func setCommitted(_ snapshot: DocumentSnapshot?, at reference: DocumentReference, time: Int64) {
    // If the state could not be looked up now, it is looked up when it is requested.
    let entry = snapshot.map { CachedDocument(current: $0, at: time) } ?? .unknown(reference)
    state.withLock { state in
      state.applyJournal()
      state.insert(entry, reference.path)
    }
  }

  private func put(_ entry: CachedDocument, at path: String) {
    state.withLock { state in
      state.applyJournal()
      state.entries.insert(entry, for: path)
    }
  }

  func delete(reference: DocumentReference) { delete(key: reference.path) }

  /// Removes the entry. The document itself may still exist; only a commit shows that a document was deleted.
  func delete(key: String) {
    state.withLock { state in
      state.applyJournal()
      state.entries.remove(key)
    }
  }

  func clear() { state.withLock { $0 = State() } }
}

extension DocumentCache.State {
  /// Moves the journal into the LRU order.
  fileprivate mutating func applyJournal() {
    for snapshot in journal.take() { apply(snapshot) }
  }

  private mutating func apply(_ snapshot: DocumentSnapshot) {
    let path = snapshot.reference.path
    // The absence of a document needs no entry if the document is not in the cache.
    if !snapshot.exists, entries.value(for: path) == nil { return }
    insert(CachedDocument(read: snapshot), path)
  }

  /// Inserts an entry unless a newer state is cached. If a newer state is cached but the entry stands for an
  /// absent document, inserts the entry as provisional, so that the database decides which of the two is
  /// newer.
  fileprivate mutating func insert(_ entry: CachedDocument, _ path: String) {
    let known = entries.value(for: path)
    if let known, known.isNewer(than: entry) {
      if entry.isAbsent { entries.insert(entry.provisional, for: path) }
      return
    }
    entries.insert(entry.replacing(known), for: path)
  }
}

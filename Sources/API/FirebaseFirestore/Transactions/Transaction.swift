// Reads and writes that take effect atomically, at one point in the order of all commits.

import ByteStore
import DocumentStore
import FirebaseCore
public import Foundation
private import OfflineSync

/// The reads and writes of a block of `runTransaction`: first all reads, then all writes. It is valid only
/// while the block runs.
public final class Transaction: NSObject, Sendable {
  private let firestore: Firestore
  private let transaction: any TransactionBase
  /// The error of the first invalid write; the commit throws it.
  private let failure = Locked<(any Error)?>(nil)
  private let isOver = Locked(false)

  init(_ firestore: Firestore, _ transaction: any TransactionBase) {
    self.firestore = firestore
    self.transaction = transaction
  }

  // MARK: Reading

  /// Reads the document as it was when the transaction began. Throws `invalidArgument` after the first
  /// write.
  public func getDocument(_ document: DocumentReference) throws -> DocumentSnapshot {
    try check(document)
    let path = try document.storedPath
    do {
      let record = try transaction.document(at: path).map(DocumentRecord.init)
      return DocumentSnapshot(
        document,
        ViewedDocument(path: path, record: record, hasPendingWrites: false, isFromCache: false))
    } catch {
      throw FirestoreErrors.translate(any: error)
    }
  }

  // MARK: Writing

  /// Replaces the contents of `document` with these fields, or creates it.
  @discardableResult
  public func setData(_ data: [String: Any], forDocument document: DocumentReference) -> Transaction {
    setData(data, forDocument: document, merge: false)
  }

  /// Sets the fields of `document`. With `merge`, all other fields stay. An empty map replaces the field's
  /// value.
  @discardableResult
  public func setData(
    _ data: [String: Any], forDocument document: DocumentReference, merge: Bool
  ) -> Transaction {
    add(document) { try $0.set(data, merge: merge) }
  }

  /// Sets the fields listed in `mergeFields` and ignores the rest of `data`. Each listed field is a
  /// `FieldPath` or a string with dots.
  @discardableResult
  public func setData(
    _ data: [String: Any], forDocument document: DocumentReference, mergeFields: [Any]
  ) -> Transaction {
    add(document) { try $0.set(data, only: mergeFields) }
  }

  /// Changes fields of `document`, which must exist. The keys are `FieldPath`s or strings with dots.
  @discardableResult
  public func updateData(
    _ fields: [AnyHashable: Any], forDocument document: DocumentReference
  ) -> Transaction {
    add(document) { try $0.update(fields) }
  }

  /// Deletes `document`. Does nothing if it does not exist.
  @discardableResult
  public func deleteDocument(_ document: DocumentReference) -> Transaction {
    add(document) { .delete($0.path) }
  }

  // MARK: Writing values

  /// Replaces the contents of `document` with the fields of `value`, or creates it. Throws if the value
  /// cannot be encoded.
  @discardableResult
  public func setData<T: Encodable>(
    from value: T, forDocument document: DocumentReference,
    encoder: Firestore.Encoder = Firestore.Encoder()
  ) throws -> Transaction {
    try setData(from: value, forDocument: document, merge: false, encoder: encoder)
  }

  /// Sets the document to the fields of `value`. With `merge`, all other fields stay.
  @discardableResult
  public func setData<T: Encodable>(
    from value: T, forDocument document: DocumentReference, merge: Bool,
    encoder: Firestore.Encoder = Firestore.Encoder()
  ) throws -> Transaction {
    let fields = try UserWrite.encode(value, encoder, in: firestore)
    return add(document) { try $0.set(fields, merge: merge) }
  }

  /// Merges the named fields of the value into the document.
  @discardableResult
  public func setData<T: Encodable>(
    from value: T, forDocument document: DocumentReference, mergeFields: [Any],
    encoder: Firestore.Encoder = Firestore.Encoder()
  ) throws -> Transaction {
    let fields = try UserWrite.encode(value, encoder, in: firestore)
    return add(document) { try $0.set(fields, only: mergeFields) }
  }

  private func add(
    _ document: DocumentReference, _ mutation: (UserWrite.Place) throws -> Mutation
  ) -> Transaction {
    do {
      try check(document)
      try transaction.write(try UserWrite.mutation(of: document, in: firestore, mutation).get())
    } catch {
      let error = FirestoreErrors.translate(any: error)
      failure.withLock { $0 = $0 ?? error }
    }
    return self
  }

  private func check(_ document: DocumentReference) throws {
    try UserWrite.check(document, belongsTo: firestore)
    guard isOver.withLock({ $0 }) else { return }
    throw Validation.misuse("A transaction object cannot be used after its update callback has been invoked.")
  }

  // MARK: Completion

  /// Rejects all further calls, because the block has returned.
  func finishBlock() { isOver.withLock { $0 = true } }

  func commit() throws {
    if let failure = failure.withLock({ $0 }) { throw failure }
    try transaction.commitWrites()
  }

  func end() {
    finishBlock()
    transaction.end()
  }
}

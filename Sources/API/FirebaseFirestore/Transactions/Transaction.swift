// Reads and writes that happen at one point of the order of all commits.

import DocumentStore
import FirebaseCore
public import Foundation
private import OfflineSync

/// What the block of `runTransaction` reads and writes with: first all reads, then all writes. It is of use as
/// long as the block runs.
public final class Transaction: NSObject, Sendable {
  private let firestore: Firestore
  private let transaction: any TransactionBase
  /// The first write that cannot be stored; the commit reports it.
  private let failure = Guarded<(any Error)?>(nil)
  private let isOver = Guarded(false)

  init(_ firestore: Firestore, _ transaction: any TransactionBase) {
    self.firestore = firestore
    self.transaction = transaction
  }

  // MARK: Reading

  /// The document as of the beginning of the transaction. Throws `invalidArgument` after the first write.
  public func getDocument(_ document: DocumentReference) throws -> DocumentSnapshot {
    check(document)
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

  /// Makes `document` consist of these fields.
  @discardableResult
  public func setData(_ data: [String: Any], forDocument document: DocumentReference) -> Transaction {
    setData(data, forDocument: document, merge: false)
  }

  /// With `merge`, sets these fields and leaves the others; an empty map replaces what is there.
  @discardableResult
  public func setData(
    _ data: [String: Any], forDocument document: DocumentReference, merge: Bool
  ) -> Transaction {
    add(document) { try $0.set(data, merge: merge) }
  }

  /// Sets only the listed ones of these fields. Each is a `FieldPath`, or text with dots.
  @discardableResult
  public func setData(
    _ data: [String: Any], forDocument document: DocumentReference, mergeFields: [Any]
  ) -> Transaction {
    add(document) { try $0.set(data, only: mergeFields) }
  }

  /// Changes fields of `document`, which has to be there. The keys are `FieldPath`s, or text with dots.
  @discardableResult
  public func updateData(
    _ fields: [AnyHashable: Any], forDocument document: DocumentReference
  ) -> Transaction {
    add(document) { try $0.update(fields) }
  }

  /// Removes `document`; fine if there is none.
  @discardableResult
  public func deleteDocument(_ document: DocumentReference) -> Transaction {
    add(document) { .delete($0.path) }
  }

  // MARK: Writing values

  /// Makes `document` consist of the fields of `value`; throws if it cannot be encoded.
  @discardableResult
  public func setData<T: Encodable>(
    from value: T, forDocument document: DocumentReference,
    encoder: Firestore.Encoder = Firestore.Encoder()
  ) throws -> Transaction {
    try setData(from: value, forDocument: document, merge: false, encoder: encoder)
  }

  /// Sets the document to the value, or merges the value into it.
  @discardableResult
  public func setData<T: Encodable>(
    from value: T, forDocument document: DocumentReference, merge: Bool,
    encoder: Firestore.Encoder = Firestore.Encoder()
  ) throws -> Transaction {
    let fields = try UserWrite.encode(value, encoder, in: firestore)
    return add(document) { try $0.set(try fields.get(), merge: merge) }
  }

  /// Merges the named fields of the value into the document.
  @discardableResult
  public func setData<T: Encodable>(
    from value: T, forDocument document: DocumentReference, mergeFields: [Any],
    encoder: Firestore.Encoder = Firestore.Encoder()
  ) throws -> Transaction {
    let fields = try UserWrite.encode(value, encoder, in: firestore)
    return add(document) { try $0.set(try fields.get(), only: mergeFields) }
  }

  private func add(
    _ document: DocumentReference, _ mutation: (UserWrite.Place) throws -> Mutation
  ) -> Transaction {
    check(document)
    let added = UserWrite.mutation(of: document, mutation)
    do {
      try transaction.write(try added.get())
    } catch {
      let error = FirestoreErrors.translate(any: error)
      failure.withLock { $0 = $0 ?? error }
    }
    return self
  }

  private func check(_ document: DocumentReference) {
    UserWrite.check(document, belongsTo: firestore)
    guard isOver.withLock({ $0 }) else { return }
    ProgrammerError.trap(
      "A transaction object cannot be used after its update callback has been invoked.")
  }

  // MARK: The end

  /// The block has returned: nothing can be added any more.
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

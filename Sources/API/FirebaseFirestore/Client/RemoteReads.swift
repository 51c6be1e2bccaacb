// Reads of a database with a remote, from each of the sources `default`, `server` and `cache`.

import DocumentStore
import Foundation
import OfflineSync

enum RemoteReads {
  /// The error of a blocking read with source `server`. Blocking reads never wait for a remote.
  static var blockingServerReadError: any Error {
    FirestoreErrors.make(
      .unavailable,
      "read(source: .server) does not wait for the remote. Use getDocument(source:) or getDocuments(source:)."
    )
  }

  /// Converts the snapshot of a query for one document to the document.
  static func document(
    _ path: DocumentPath, _ snapshot: ViewSnapshot, source: ReadSource
  ) throws -> ViewedDocument {
    let stored = snapshot.documents.first
    if snapshot.isFromCache {
      guard stored != nil else {
        throw FirestoreErrors.make(
          .unavailable, "Failed to get document because the client is offline.")
      }
      if source == .server {
        throw FirestoreErrors.make(
          .unavailable,
          "Failed to get document from server. (However, this document does exist in the local cache. Run again "
            + "without setting source to FirestoreSourceServer to retrieve the cached document.)")
      }
    }
    return ViewedDocument(
      path: path, record: stored.map { DocumentRecord($0) },
      hasPendingWrites: stored?.isPending ?? false, isFromCache: snapshot.isFromCache)
  }

  /// Converts the snapshot to the document. If the remote has accepted all local writes to the document, uses
  /// the cached contents instead of the snapshot.
  static func document(
    _ path: DocumentPath, _ snapshot: ViewSnapshot, known: SyncedDocument
  ) throws -> ViewedDocument {
    let viewed = try document(path, snapshot, source: .default)
    guard known.pending == .committed, known.content != .unknown else { return viewed }
    return ViewedDocument(
      path: path, record: known.stored.map { DocumentRecord($0) }, hasPendingWrites: false,
      isFromCache: viewed.isFromCache)
  }

  static func documents(_ snapshot: ViewSnapshot, _ source: ReadSource) throws -> ViewedDocuments {
    if snapshot.isFromCache, source == .server {
      throw FirestoreErrors.make(
        .unavailable,
        "Failed to get documents from server. (However, these documents may exist in the local cache. Run again "
          + "without setting source to FirestoreSourceServer to retrieve the cached documents.)")
    }
    return ViewedDocuments(
      snapshot.documents.map { document in
        ViewedDocument(
          path: document.path, record: DocumentRecord(document),
          hasPendingWrites: document.isPending, isFromCache: snapshot.isFromCache)
      }, isFromCache: snapshot.isFromCache)
  }

  static func cached(_ documents: [SyncedDocument]) -> ViewedDocuments {
    ViewedDocuments(
      documents.map {
        ViewedDocument(
          path: $0.path, record: $0.stored.map { DocumentRecord($0) },
          hasPendingWrites: $0.pending == .local, isFromCache: true)
      }, isFromCache: true)
  }

  /// Returns a document from the cache. Throws if the cache does not know whether the document exists.
  static func cached(_ document: SyncedDocument) throws -> ViewedDocument {
    guard document.isValid, document.content != .unknown else {
      throw FirestoreErrors.make(
        .unavailable,
        "Failed to get document from cache. (However, this document may exist on the server. Run again without "
          + "setting source to FirestoreSourceCache to attempt to retrieve the document ")
    }
    return ViewedDocument(
      path: document.path, record: document.stored.map { DocumentRecord($0) },
      hasPendingWrites: document.isFound && document.pending == .local, isFromCache: true)
  }
}

// Reads a single document.

import DocumentStore
private import Foundation
import OfflineSync

extension DocumentReference {
  /// Reads the document once. `completion` runs on the callback queue.
  public func getDocument(completion: @escaping (DocumentSnapshot?, (any Error)?) -> Void) {
    getDocument(source: .default, completion: completion)
  }

  /// Reads the document once from `source`. `completion` runs on the callback queue.
  public func getDocument(
    source: FirestoreSource, completion: @escaping (DocumentSnapshot?, (any Error)?) -> Void
  ) {
    read(source.readSource, through: firestore.client(), completion)
  }

  func read(
    _ source: ReadSource, through client: any FirestoreClient,
    _ completion: @escaping (DocumentSnapshot?, (any Error)?) -> Void
  ) {
    let path = Result { try storedPath }
    client.read(firestore.delivering(to: completion)) { [self] write in
      DocumentSnapshot(self, try await client.document(at: try path.get(), source: source, after: write))
    }
  }

  /// Reads the document for a write that depends on its contents.
  func readForWrite(
    through client: any FirestoreClient, _ completion: @escaping (DocumentSnapshot?, (any Error)?) -> Void
  ) {
    let path = Result { try storedPath }
    client.read(firestore.delivering(to: completion)) { [self] write in
      DocumentSnapshot(self, try await client.documentForWrite(at: try path.get(), after: write))
    }
  }

  /// Reads the document on the caller's thread, unless earlier writes are still in progress.
  @discardableResult
  nonisolated(nonsending)
    public func getDocument(source: FirestoreSource = .default) async throws -> DocumentSnapshot
  {
    try await startReading(source).snapshot()
  }

  /// A read that sees the writes issued before it, and does not wait for later writes.
  private struct Read: Sendable {
    var reference: DocumentReference
    var client: any FirestoreClient
    var path: DocumentPath
    var source: ReadSource
    var lastWrite: UInt64

    nonisolated(nonsending) func snapshot() async throws -> DocumentSnapshot {
      DocumentSnapshot(reference, try await client.document(at: path, source: source, after: lastWrite))
    }
  }

  private func startReading(_ source: FirestoreSource) throws -> Read {
    let client = firestore.client()
    return Read(
      reference: self, client: client, path: try storedPath, source: source.readSource,
      lastWrite: client.lastIssuedWrite)
  }

  // MARK: Values

  /// Reads the document and decodes it as `type`. If the document does not exist, throws unless `type` is
  /// optional.
  nonisolated(nonsending) public func getDocument<T: Decodable>(
    as type: T.Type, with serverTimestampBehavior: ServerTimestampBehavior = .none,
    decoder: Firestore.Decoder = Firestore.Decoder(), source: FirestoreSource = .default
  ) async throws -> T {
    try await getDocument(source: source)
      .data(as: type, with: serverTimestampBehavior, decoder: decoder)
  }

  /// Reads the document and decodes it as `type`. `completion` runs on the callback queue.
  public func getDocument<T: Decodable>(
    as type: T.Type, with serverTimestampBehavior: ServerTimestampBehavior = .none,
    decoder: Firestore.Decoder = Firestore.Decoder(), source: FirestoreSource = .default,
    completion: @escaping (Result<T, any Error>) -> Void
  ) {
    getDocument(source: source) { snapshot, error in
      completion(
        Result {
          guard let snapshot else { throw error ?? FirestoreErrorCode(.unknown) }
          return try snapshot.data(as: type, with: serverTimestampBehavior, decoder: decoder)
        })
    }
  }
}

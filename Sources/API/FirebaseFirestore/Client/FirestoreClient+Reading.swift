// Reads, in three kinds: async reads, reads with a completion, and reads that block the caller's thread.
//
// Reads with a completion run one after the other on their own queue. Their results therefore arrive in the
// order of the calls, even if all task threads are busy. Reads that wait for an index or for the remote
// complete later.

package import DocumentStore
import FirebaseCore
import Foundation
package import OfflineSync

extension FirestoreClient {
  // MARK: Async

  nonisolated(nonsending) package func document(
    at path: DocumentPath, source: ReadSource, after write: UInt64
  ) async throws -> ViewedDocument {
    if remote != nil {
      await wait(for: write)
      if let driver = try await openedDriver() {
        return try await document(at: path, source: source, through: driver)
      }
    }
    return try await read(after: write) { view throws(DocumentStoreError) in
      try view.record(at: path, source: source)
    }
  }

  nonisolated(nonsending) package func documents(
    _ query: StructuredQuery, source: ReadSource, after write: UInt64
  ) async throws -> ViewedDocuments {
    if remote != nil {
      await wait(for: write)
      if let driver = try await openedDriver() {
        return try await documents(query, source: source, through: driver)
      }
    }
    let ready = try await read(after: write) { view throws(DocumentStoreError) in
      try view.readyDocuments(query, source: source)
    }
    if let ready { return ready }
    return try await prepared { view throws(DocumentStoreError) in try view.documents(query, source: source) }
  }

  nonisolated(nonsending) package func aggregate(
    _ aggregates: [Aggregate], over query: StructuredQuery, source: AggregateSource, after write: UInt64
  ) async throws -> [StoredValue] {
    if source == .server, let remote {
      await wait(for: write)
      if let driver = try await openedDriver() {
        return try await withCheckedThrowingContinuation { done in
          aggregate(aggregates, over: query, at: remote, through: driver) { done.resume(with: $0) }
        }
      }
    }
    let ready = try await read(after: write) { view throws(DocumentStoreError) in
      try view.readyAggregate(aggregates, over: query)
    }
    if let ready { return ready }
    return try await prepared { view throws(DocumentStoreError) in
      try view.aggregate(aggregates, over: query)
    }
  }

  // MARK: With a completion

  typealias Answer<Value> = @Sendable (Result<Value, any Error>) -> Void

  /// Runs `body` in the order of these reads. `body` calls `done` itself, unless it throws.
  func inOrderOfReads<Value>(_ done: @escaping Answer<Value>, _ body: @escaping @Sendable () throws -> Void) {
    reading.async {
      do { try body() } catch { done(.failure(FirestoreErrors.translate(any: error))) }
    }
  }

  func document(
    at path: DocumentPath, source: ReadSource, after write: UInt64, _ done: @escaping Answer<ViewedDocument>
  ) {
    inOrderOfReads(done) { [self] in
      let view = try openedStoreNow(after: write)
      guard let driver = openDriver, remote != nil else {
        return done(.success(try view.record(at: path, source: source)))
      }
      guard source != .cache else {
        let known = try driver.inspectNow { engine throws(DocumentStoreError) in
          try engine.local.document(path)
        }
        return done(.success(try RemoteReads.cached(known)))
      }
      let done = questions.once(on: reading, done)
      driver.first(StructuredQuery(.document(path))) { [self] first in
        inOrderOfReads(done) { done(.success(try RemoteReads.document(path, try first.get(), source))) }
      }
    }
  }

  /// Reads a document for a write that depends on its contents. If all writes to the document are accepted,
  /// the cached contents replace those of the view, which may be older.
  func knownDocument(
    at path: DocumentPath, after write: UInt64, _ done: @escaping Answer<ViewedDocument>
  ) {
    inOrderOfReads(done) { [self] in
      let view = try openedStoreNow(after: write)
      guard let driver = openDriver, remote != nil else { return done(.success(try view.record(at: path))) }
      let done = questions.once(on: reading, done)
      driver.firstKnown(at: path) { [self] first in
        inOrderOfReads(done) {
          let (snapshot, known) = try first.get()
          done(.success(try RemoteReads.document(path, snapshot, known)))
        }
      }
    }
  }

  func documents(
    _ query: StructuredQuery, source: ReadSource, after write: UInt64,
    _ done: @escaping Answer<ViewedDocuments>
  ) {
    inOrderOfReads(done) { [self] in
      let view = try openedStoreNow(after: write)
      guard let driver = openDriver, remote != nil else {
        if let ready = try view.readyDocuments(query, source: source) { return done(.success(ready)) }
        return prepare {
          done(Result { try view.documents(query, source: source) }.mapError(FirestoreErrors.translate(any:)))
        }
      }
      if try driver.store.isReady(query) { return try ask(query, source, driver, done) }
      prepare { [self] in
        do {
          try driver.store.makeIndexes(for: query)
          try ask(query, source, driver, done)
        } catch {
          done(.failure(FirestoreErrors.translate(any: error)))
        }
      }
    }
  }

  /// Calls `done` itself, unless it throws.
  private func ask(
    _ query: StructuredQuery, _ source: ReadSource, _ driver: SyncDriver,
    _ done: @escaping Answer<ViewedDocuments>
  ) throws {
    guard source != .cache else {
      let known = try driver.inspectNow { engine throws(DocumentStoreError) in
        try engine.local.documents(query)
      }
      return done(.success(RemoteReads.cached(known)))
    }
    let done = questions.once(on: reading, done)
    driver.first(query) { [self] first in
      inOrderOfReads(done) { done(.success(try RemoteReads.documents(try first.get(), source))) }
    }
  }

  func aggregate(
    _ aggregates: [Aggregate], over query: StructuredQuery, source: AggregateSource, after write: UInt64,
    _ done: @escaping Answer<[StoredValue]>
  ) {
    inOrderOfReads(done) { [self] in
      let view = try openedStoreNow(after: write)
      if source == .server, let remote, let driver = openDriver {
        return aggregate(aggregates, over: query, at: remote, through: driver, done)
      }
      if let ready = try view.readyAggregate(aggregates, over: query) { return done(.success(ready)) }
      prepare {
        done(Result { try view.aggregate(aggregates, over: query) }.mapError(FirestoreErrors.translate(any:)))
      }
    }
  }

  // MARK: Blocking

  /// With a remote, reads the local cache only: a blocking read never waits for the remote.
  func documentNow(
    at path: DocumentPath, source: ReadSource, after write: UInt64
  ) throws -> ViewedDocument {
    guard remote != nil else {
      return try readNow(after: write) { view throws(DocumentStoreError) in
        try view.record(at: path, source: source)
      }
    }
    guard source != .server else { throw RemoteReads.notOnThisThread }
    let viewed = try readNow(after: write) { view throws(DocumentStoreError) in
      try view.record(at: path, source: .cache)
    }
    guard viewed.record == nil, let driver = openDriver else { return viewed }
    let known = Result { () throws(DocumentStoreError) in
      try driver.inspectNow { engine throws(DocumentStoreError) in try engine.local.document(path) }
    }
    return try RemoteReads.cached(try known.mapError(FirestoreErrors.translate).get())
  }

  func documentsNow(
    _ query: StructuredQuery, source: ReadSource, after write: UInt64
  ) throws -> ViewedDocuments {
    if remote != nil, source == .server { throw RemoteReads.notOnThisThread }
    return try readNow(after: write) { [remote] view throws(DocumentStoreError) in
      try view.documents(query, source: remote == nil ? source : .cache)
    }
  }
}

// Loads bundles, and finds their named queries.

private import ByteStore
private import DocumentStore
import FirebaseCore
public import Foundation
private import OfflineSync

extension Firestore {
  /// Loads the documents and queries of a bundle. A document in the bundle replaces the stored document if it
  /// is newer. The call has no effect if this bundle, or a newer version of it, was loaded before. Without a
  /// remote, a deletion leaves no tombstone: a bundle that contains the deleted document creates it again.
  @discardableResult
  public func loadBundle(_ bundleData: Data) -> LoadBundleTask { loadBundle(bundleData, completion: nil) }

  /// Loads a bundle. `completion` runs on the callback queue with the final progress or an error. After an
  /// error, the bundle does not count as loaded and can be loaded again. After a failed write, some documents
  /// of the bundle may already be stored: without a remote, a bundle of more than 4 MiB takes several
  /// commits.
  @discardableResult
  public func loadBundle(
    _ bundleData: Data, completion: ((LoadBundleTaskProgress?, (any Error)?) -> Void)?
  ) -> LoadBundleTask {
    start(.data(bundleData), completion)
  }

  /// Loads a bundle from a stream, which another thread reads.
  @discardableResult
  public func loadBundle(_ bundleStream: InputStream) -> LoadBundleTask {
    loadBundle(bundleStream, completion: nil)
  }

  /// Loads a bundle from a stream. `completion` runs on the callback queue with the final progress or an
  /// error.
  @discardableResult
  public func loadBundle(
    _ bundleStream: InputStream, completion: ((LoadBundleTaskProgress?, (any Error)?) -> Void)?
  ) -> LoadBundleTask {
    start(.stream(Transferred(bundleStream)), completion)
  }

  /// Loads a bundle. Returns when its documents are on stable storage.
  @discardableResult
  nonisolated(nonsending)
    public func loadBundle(_ bundleData: Data) async throws -> LoadBundleTaskProgress
  {
    try await BundleLoad(self, LoadBundleTask(), source: .data(bundleData)).run()
  }

  /// Loads a bundle from a stream. Returns when its documents are on stable storage.
  @discardableResult
  nonisolated(nonsending)
    public func loadBundle(_ bundleStream: InputStream) async throws -> LoadBundleTaskProgress
  {
    try await BundleLoad(self, LoadBundleTask(), source: .stream(Transferred(bundleStream))).run()
  }

  private func start(
    _ source: BundleLoad.Source, _ completion: ((LoadBundleTaskProgress?, (any Error)?) -> Void)?
  ) -> LoadBundleTask {
    let task = LoadBundleTask()
    let load = BundleLoad(self, task, source: source)
    load.begin(delivering { completion?($0, $1) })
    return task
  }

  // MARK: Named queries

  /// Finds the query with this name in the bundles that were loaded. `completion` runs on the callback queue,
  /// with nil if no loaded bundle contains such a query.
  public func getQuery(named name: String, completion: @escaping (Query?) -> Void) {
    query(named: name, delivering { query, _ in completion(query) })
  }

  /// Returns the query with this name in the bundles that were loaded; nil if no loaded bundle contains such
  /// a query.
  @discardableResult
  nonisolated(nonsending) public func getQuery(named name: String) async -> Query? {
    await awaitValue { done in query(named: name) { done(try? $0.get()) } }
  }

  private func query(named name: String, _ done: @escaping @Sendable (Result<Query, any Error>) -> Void) {
    let client = client()
    client.store.work(
      after: client.lastIssuedWrite,
      { [self] view in
        guard let text = try view.namedQuery(name),
          let json = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
        else {
          throw FirestoreErrors.make(.notFound, "There is no query named \(name).")
        }
        return Query(self, try BundleQuery.query(json, BundleValues(self)))
      }, done: done)
  }
}

/// The loading of one bundle.
private struct BundleLoad: Sendable {
  let firestore: Firestore
  let task: LoadBundleTask
  let source: Source
  let client: any FirestoreClient

  enum Source: Sendable {
    case data(Data)
    case stream(Transferred<InputStream>)
  }

  init(_ firestore: Firestore, _ task: LoadBundleTask, source: Source) {
    self.firestore = firestore
    self.task = task
    self.source = source
    client = firestore.client()
  }

  nonisolated(nonsending) func run() async throws -> LoadBundleTaskProgress {
    try await awaitResult(begin)
  }

  func begin(_ done: @escaping @Sendable (Result<LoadBundleTaskProgress, any Error>) -> Void) {
    let lastWrite = client.lastIssuedWrite
    let begin: @Sendable (Data?) -> Void = { data in
      let hasBegun = Locked(false)
      client.store.work(
        after: lastWrite,
        { view in
          hasBegun.withLock { $0 = true }
          return try load(data, into: view)
        },
        done: { result in
          // Without a store, for example after the termination, the loading does not begin and reports
          // nothing.
          if result.failure != nil, !hasBegun.withLock({ $0 }) { report(Progress(), .error) }
          done(result)
        })
    }
    switch source {
    case .data(let data): begin(data)
    case .stream(let stream):
      // Reading the stream may block for a long time, or forever. Termination therefore does not wait for
      // this read.
      ClientStore.blockingQueue().async { begin(stream.value.everything) }
    }
  }

  private func load(_ data: Data?, into view: LocalView) throws -> LoadBundleTaskProgress {
    var progress = Progress()
    do {
      try load(data, into: view, progress: &progress)
      return report(progress, .success)
    } catch {
      report(progress, .error)
      throw (error as? BundleError).map(FirestoreErrors.translate) ?? FirestoreErrors.translate(any: error)
    }
  }

  private struct Progress {
    var documentsLoaded = 0
    var totalDocuments = 0
    var bytesLoaded = 0
    var totalBytes = 0
  }

  private func load(_ data: Data?, into view: LocalView, progress: inout Progress) throws {
    guard let data else { throw BundleError("The bundle cannot be read.") }
    // Firestore also reports an empty bundle with this code.
    guard !data.isEmpty else { throw FirestoreErrors.make(.unknown, "The bundle is empty.") }
    var reader = BundleReader(data, BundleValues(firestore))
    guard
      case .metadata(let id, let createTime, let totalDocuments, let totalBytes)? = try reader.next()?.element
    else { throw BundleError("The bundle does not begin with its metadata.") }
    progress.totalDocuments = totalDocuments
    progress.totalBytes = totalBytes
    guard try !view.hasBundle(id, from: createTime) else {
      progress.documentsLoaded = totalDocuments
      progress.bytesLoaded = totalBytes
      return
    }
    var bundle = BundleContents(id: id, createTime: createTime)
    try read(&reader, into: &bundle, progress: &progress)
    guard progress.documentsLoaded >= totalDocuments else {
      throw BundleError(
        "The bundle has \(progress.documentsLoaded) documents, and announces \(totalDocuments).")
    }
    try client.load(bundle, into: view)
  }

  private func read(
    _ reader: inout BundleReader, into bundle: inout BundleContents, progress: inout Progress
  ) throws {
    /// An announced document whose contents have not been read yet.
    var announced: (path: DocumentPath, queries: [String])?
    while let (element, byteCount) = try reader.next() {
      progress.bytesLoaded += byteCount
      switch element {
      case .metadata: throw BundleError("The bundle has metadata twice.")
      case .namedQuery(let query): bundle.queries.append(query)
      case .documentMetadata(let path, let readTime, let exists, let queries):
        guard announced == nil else { throw BundleError("The bundle announces a document that it lacks.") }
        if exists {
          announced = (path, queries)
          continue
        }
        bundle.documents.append(
          BundledDocument(path: path, fields: nil, version: readTime, byteCount: byteCount))
        progress.documentsLoaded += 1
        report(progress, .inProgress)
      case .document(let path, let fields, let updateTime):
        guard let (announcedPath, queries) = announced, announcedPath == path else {
          throw BundleError("The bundle has a document without metadata.")
        }
        announced = nil
        bundle.documents.append(
          BundledDocument(
            path: path, fields: fields, version: updateTime, byteCount: byteCount, queries: queries))
        progress.documentsLoaded += 1
        report(progress, .inProgress)
      }
    }
    guard announced == nil else { throw BundleError("The bundle announces a document that it lacks.") }
  }

  @discardableResult
  private func report(_ progress: Progress, _ state: LoadBundleTaskState) -> LoadBundleTaskProgress {
    let reported = LoadBundleTaskProgress(
      documentsLoaded: progress.documentsLoaded, totalDocuments: progress.totalDocuments,
      bytesLoaded: progress.bytesLoaded, totalBytes: progress.totalBytes, state: state)
    firestore.callbackQueue.submit { [task] in task.notifyObservers(of: reported) }
    return reported
  }
}

// A remote that reaches a Firestore over the network.

public import DocumentStore
internal import FirestoreWire
package import HTTPClient
public import OfflineSync

/// The remote of a database whose authority is a Firestore somewhere else: a server of Dugout, Google's
/// emulator, or Cloud Firestore.
///
/// The database becomes a cache with an outbox. Writes to a server of Dugout are applied once, however often
/// the connection breaks. Other servers cannot recognise a write, so one whose answer was lost may be applied
/// twice.
///
/// ```swift
/// import FirestoreRemote
///
/// var options = FirestoreRemoteOptions(project: "shop")
/// options.host = "127.0.0.1:8080"
/// options.isSSLEnabled = false
/// options.credentials = { request in request.user.map { .unsigned(for: $0) } }
/// let remote = FirestoreRemote(options)
/// ```
///
/// Usable from any thread, and by several `Firestore` instances of its database. Another database needs a
/// remote of its own.
public final class FirestoreRemote: Remote {
  private let context: RemoteContext
  private let runs: CommitRuns
  public let networkMonitor: (any NetworkMonitor)?

  /// The id of the database with which this remote syncs.
  package var databaseID: String { context.database.databaseID }

  /// Creates a remote. No connection is made before the first request. If the host of the options cannot be
  /// one, all requests fail with INVALID_ARGUMENT and the reason.
  public convenience init(_ options: FirestoreRemoteOptions) {
    let scheduler = QueueScheduler(label: "dugout.firestore.remote")
    let connections = Self.connections(options, on: scheduler)
    self.init(
      options, transport: connections.transport, channels: connections.channels, on: scheduler,
      tokens: Self.refusal(of: options.host),
      monitor: HostName.isLoopback(options.host) ? nil : SystemNetworkMonitor.shared)
  }

  /// Creates a remote for a project of Cloud Firestore, with the given tokens of its users.
  ///
  /// ```swift
  /// import FirestoreRemote
  ///
  /// func remote(_ token: @escaping @Sendable () async throws -> FirestoreToken?) -> FirestoreRemote {
  ///   FirestoreRemote(project: "shop") { _ in try await token() }
  /// }
  /// ```
  public convenience init(
    project: String, database: String = "(default)", credentials: FirestoreTokenSource? = nil
  ) {
    var options = FirestoreRemoteOptions(project: project)
    options.database = database
    options.credentials = credentials
    self.init(options)
  }

  /// Tokens in whose place there is the error of a host. Each request and each stream begins with its tokens.
  private static func refusal(of host: String) -> (users: TokenFetch?, app: TokenFetch?)? {
    do throws(RemoteError) { try HostName.check(host) } catch {
      let fetch: TokenFetch = { [error] _, done in
        done(.failure(error))
        return {}
      }
      return (fetch, nil)
    }
    return nil
  }

  /// Creates a remote over the given connections. With `users` and `app`, tokens come from them in place of
  /// the closures of the options.
  package init(
    _ options: FirestoreRemoteOptions, transport: any WebTransport, channels: any MessageChannels,
    on scheduler: any SyncScheduler, tokens: (users: TokenFetch?, app: TokenFetch?)? = nil,
    monitor: (any NetworkMonitor)? = nil
  ) {
    let timeLimit = Int64(max(0.001, min(options.callTimeLimit, 86_400)) * 1_000_000)
    let sources = tokens ?? (options.credentials.map(fetch), options.appCheck.map(fetch))
    let credentials = RemoteCredentials(
      users: TokenCache(scheduler, sources.users, timeLimit: timeLimit),
      app: TokenCache(scheduler, sources.app, timeLimit: timeLimit))
    var context = RemoteContext(
      RequestHead(database: options.name, apiKey: options.apiKey, appID: options.appID), credentials,
      transport: transport, channels: channels, scheduler: scheduler)
    context.callTimeLimit = timeLimit
    self.context = context
    runs = CommitRuns(scheduler)
    networkMonitor = monitor
  }

  // MARK: Credentials

  /// Reports that the app has another token of a user. Requests from here on have a token that the closure is
  /// asked for again, and the streams of the user are opened again. A stream with writes that were sent first
  /// waits for their answers, for the time limit of a call. Clients that wait after a failure connect at
  /// once.
  public func tokenDidChange(of user: String?) {
    context.scheduler.run { [context] in context.credentials.renewToken(of: user) }
  }

  /// Reports that the app has another token of App Check, like `tokenDidChange(of:)`.
  public func appCheckTokenDidChange() {
    context.scheduler.run { [context] in context.credentials.renewAppToken() }
  }

  public func observeCredentials(_ handler: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
    context.credentials.observeAll(handler)
  }

  // MARK: The protocol

  public var documentsName: String { context.database.documentsName }

  /// Makes new connections from here on. Requests that have begun keep theirs.
  public func networkDidChange() {
    context.scheduler.run { [context] in context.transport.renewConnections() }
  }

  public func openWatchStream(
    as user: String?, _ handler: @escaping @Sendable (WatchStreamEvent) -> Void
  ) -> any WatchStream { ListenStream(context, as: user, handler) }

  public func openWriteStream(
    as user: String?, _ handler: @escaping @Sendable (WriteStreamEvent) -> Void
  ) -> any WriteStream { BatchStream(context, as: user, handler) }

  public func documents(
    at paths: [DocumentPath], as user: String?,
    _ answer: @escaping @Sendable (Result<[RemoteDocument], RemoteError>) -> Void
  ) {
    context.scheduler.run { [context] in context.documents(at: paths, as: user, answer) }
  }

  public func commit(
    _ mutations: [Mutation], as user: String?,
    _ answer: @escaping @Sendable (Result<SnapshotVersion, RemoteError>) -> Void
  ) {
    context.scheduler.run { [context, runs] in
      guard runs.registers != false, !mutations.isEmpty else {
        return context.commit(mutations, as: user, answer)
      }
      CommitOnce(context, runs, committing: mutations, as: user, answer: answer).start()
    }
  }

  public func aggregate(
    _ aggregates: [Aggregate], over query: StructuredQuery, as user: String?,
    _ answer: @escaping @Sendable (Result<[StoredValue], RemoteError>) -> Void
  ) {
    context.scheduler.run { [context] in context.aggregate(aggregates, over: query, as: user, answer) }
  }
}

extension FirestoreRemote: FlowControlledRemote {
  package func openFlowControlledWatchStream(
    as user: String?, _ handler: @escaping @Sendable (WatchStreamEvent) -> Void
  ) -> any FlowControlledWatchStream {
    let stream = ListenStream(context, as: user, handler)
    stream.enableFlowControl()
    return stream
  }
}

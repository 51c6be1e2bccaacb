// The calls of google.firestore.v1.Firestore, without a network: requests and answers are bytes.

public import Authority
internal import ByteStore
internal import Dispatch
package import FirestoreWire
public import OfflineSync

/// Answers the calls of Firestore's protocol from stores of this process. A transport passes the bytes of
/// requests in and the bytes of answers out; the service has no socket. Usable from any thread.
///
/// ```swift
/// import Authority
/// import DocumentStore
///
/// let store = try DocumentStore.open("shop-data")
/// let service = try FirestoreService(databases: [
///   "projects/shop/databases/(default)": Authority.of(store)
/// ])
/// let call = service.handle("Commit", metadata: CallMetadata(), format: .json) { event in
///   if case .message(let bytes) = event { print(String(decoding: bytes, as: UTF8.self)) }
/// }
/// call.send(Array(#"{"database": "projects/shop/databases/(default)", "writes": []}"#.utf8))
/// call.finish()
/// ```
///
/// The stores stay ordinary databases, and the app closes them.
public final class FirestoreService: Sendable {
  private let options: ServiceOptions
  private let directory: DatabaseDirectory

  /// Creates a service of these databases. The keys are their names, as in
  /// `projects/shop/databases/(default)`. Throws `invalidArgument` if a name has another form.
  public convenience init(
    databases: [String: Authority], options: ServiceOptions = ServiceOptions()
  ) throws(RemoteError) {
    var named: [DatabaseName: Authority] = [:]
    for (name, authority) in databases { named[try DatabaseName(name)] = authority }
    self.init(options: options) { [named] name throws(RemoteError) in
      guard let authority = named[name] else {
        throw RemoteError(.notFound, "The database \(shortened(name.text)) does not exist.")
      }
      return authority
    }
  }

  /// Creates a service that finds its databases when a call first names them. Each database is found once.
  package init(
    options: ServiceOptions = ServiceOptions(),
    _ find: @escaping @Sendable (DatabaseName) throws(RemoteError) -> Authority
  ) {
    self.options = options
    directory = DatabaseDirectory(options, find)
  }

  /// The number of open transactions of all databases.
  package var openTransactionCount: Int { directory.openTransactionCount }

  /// Ends all locks of transactions, so that no commit waits for one. Nothing is locked from then on. For a
  /// server that refuses new calls and waits for those in progress: the commits of open transactions, which
  /// others wait for, are among the refused ones.
  package func endLocks() { directory.endLocks() }

  /// Begins a call of a method, as in `/google.firestore.v1.Firestore/Commit`, or `Commit` alone.
  ///
  /// A call that takes one request runs within `send`, and delivers its events there, unless it has a queue.
  /// A long answer is then sent in several blocks of the queue, and read as far as they run. With a queue, no
  /// thread waits for a commit; without one, `send` returns when the commit is durable.
  /// A watch stream or a write stream runs on its queue, or on one of its own. All errors are delivered as
  /// the end of the call; a method that does not exist is UNIMPLEMENTED.
  ///
  /// Keep the call that is returned: a stream ends with its last reference.
  public func handle(
    _ method: String, metadata: CallMetadata, format: WireFormat, on queue: ServiceQueue? = nil,
    respond: @escaping @Sendable (ServiceEvent) -> Void
  ) -> ServiceCall {
    let responder = Responder(format, respond)
    let context = CallContext(
      directory: directory, metadata: metadata, options: options, waits: responder.waits)
    guard let method = ServiceMethod(named: method) else {
      return ServiceCall(UnknownMethodCall(responder, method, on: queue))
    }
    switch method {
    case .listen: return ServiceCall(ListenStream(context, responder, on: queue ?? .own()))
    case .write: return ServiceCall(WriteStreamCall(context, responder, on: queue ?? .own()))
    default:
      let call = SingleRequestCall(
        responder, on: queue, beginsWithinSend: { method.beginsWithinSend(requestBytes: $0) }
      ) { request, responder, mayBlock throws(RemoteError) in
        var context = context
        context.mayBlock = mayBlock
        return try context.perform(method, request, to: responder)
      }
      return ServiceCall(call)
    }
  }

  /// Whether a call with a request of this size neither blocks nor takes long, so that an event loop may
  /// begin it within `send` (`ServiceQueue.mayBeginWithinSend`). All other calls begin on their queue.
  package static func beginsWithinSend(_ method: String, requestBytes: Int) -> Bool {
    ServiceMethod(named: method)?.beginsWithinSend(requestBytes: requestBytes) ?? false
  }
}

/// A call of a method that does not exist. It ends with its first request, or when it is finished.
private struct UnknownMethodCall: CallHandler {
  private let responder: Responder
  private let queue: ServiceQueue?
  private let method: String

  init(_ responder: Responder, _ method: String, on queue: ServiceQueue?) {
    self.responder = responder
    self.queue = queue
    self.method = method
  }

  func receive(_ bytes: [UInt8]) { finish() }

  func finish() {
    let end: @Sendable () -> Void = { [responder, method] in
      responder.end(RemoteError(.unimplemented, "Method not found: \(shortened(method))"))
    }
    if let queue { queue.add(end) } else { end() }
  }

  func cancel() { responder.cancel() }
}

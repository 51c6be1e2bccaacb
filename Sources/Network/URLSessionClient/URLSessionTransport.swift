// Requests of HTTP by URLSession.
//
//   1. Each exchange is a task of one session. The session's delegate passes the events of a task to its
//      exchange.
//   2. A timer of the exchange ends it after a time without a byte in either direction. The session's own
//      timers differ between systems, so they are set to times that never pass.
//   3. An exchange that is cancelled, or whose answer has ended, delivers nothing more.
//   4. An answer is read however slowly its receiver takes the bytes. The documentation of `suspend()` says
//      that a data task starts over when it is resumed. A request that may have had an effect must not be
//      sent again.
//
// The session keeps neither cookies nor answers nor credentials, follows no redirects, and repeats no
// request.

internal import ByteStore
internal import Dispatch
internal import Foundation
package import HTTPClient

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// A transport to one host.
package final class URLSessionTransport: WebTransport {
  private static let connectionsMax = 32

  private let origin: String
  /// The session of new requests.
  private let current: Locked<Session>

  private struct Session {
    let session: URLSession
    /// A delegate knows the tasks of one session by their numbers.
    let delegate = SessionDelegate()

    init() {
      let events = OperationQueue()
      events.maxConcurrentOperationCount = 1
      session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: events)
    }
  }

  /// Creates a transport to a host, which is a name or an address, with a port or without. An address of
  /// IPv6 is in brackets.
  package init(host: String, isTLS: Bool) {
    origin = "\(isTLS ? "https" : "http")://\(host)"
    current = Locked(Session())
  }

  deinit { current.withLock { $0.session.invalidateAndCancel() } }

  private static var configuration: URLSessionConfiguration {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpCookieStorage = nil
    configuration.httpCookieAcceptPolicy = .never
    configuration.httpShouldSetCookies = false
    configuration.urlCache = nil
    configuration.urlCredentialStorage = nil
    configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
    // Two back channels, two forward requests and several calls are open at a time.
    configuration.httpMaximumConnectionsPerHost = connectionsMax
    configuration.timeoutIntervalForRequest = unlimitedSeconds
    configuration.timeoutIntervalForResource = unlimitedSeconds
    return configuration
  }

  private static let unlimitedSeconds: Double = 7 * 24 * 3600

  package func begin(
    _ request: WebRequest, _ handler: @escaping @Sendable (WebEvent) -> Void
  ) -> any WebExchange {
    guard let url = URL(string: origin + request.target), url.host != nil else {
      return RefusedExchange(WebFailure("The address \(origin) is not valid.", isUnsent: true), handler)
    }
    var native = URLRequest(url: url)
    native.httpMethod = request.method
    native.timeoutInterval = Self.unlimitedSeconds
    for field in request.fields { native.addValue(field.value, forHTTPHeaderField: field.name) }
    native.httpBody = request.body.map { Data($0) }
    let exchange = current.withLock { current in
      let task = current.session.dataTask(with: native)
      let exchange = SessionExchange(task, silenceSeconds: request.silenceSeconds, handler)
      current.delegate.add(exchange, for: task)
      return exchange
    }
    exchange.resume()
    return exchange
  }

  package func renewConnections() {
    let previous = current.withLock { current in
      defer { current = Session() }
      return current
    }
    previous.session.finishTasksAndInvalidate()
  }
}

/// A request that cannot be sent.
private final class RefusedExchange: WebExchange {
  private let isCancelled = Locked(false)

  init(_ failure: WebFailure, _ handler: @escaping @Sendable (WebEvent) -> Void) {
    DispatchQueue.global().async { [isCancelled] in
      if !isCancelled.withLock({ $0 }) { handler(.ended(failure)) }
    }
  }

  func cancel() { isCancelled.withLock { $0 = true } }
}

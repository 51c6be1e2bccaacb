// The connection of a client's write stream to its loopback authority.

internal import DocumentStore
internal import OfflineSync

final class LoopbackWriteStream: WriteStream, @unchecked Sendable {
  // The conformance is unchecked, because the stream is only accessed on the scheduler of the remote.
  private let remote: LoopbackRemote
  private let user: String?
  private let handler: @Sendable (WriteStreamEvent) -> Void
  private var number: Int?
  private var authority: Authority?
  private var up: LoopbackLine<Request>?
  private var down: LoopbackLine<WriteStreamEvent>?
  private(set) var isClosed = false

  private enum Request: Sendable, CustomStringConvertible {
    case handshake([RunRegistration])
    case write(RemoteWrite)
    /// A duplicate. The server processes it, and its answer is lost.
    case copy(RemoteWrite)

    var description: String {
      switch self {
      case .handshake: "handshake"
      case .write(let write): "write \(write.id.batch) of \(Self.paths(write))"
      case .copy(let write): "copy of write \(write.id.batch) of \(Self.paths(write))"
      }
    }

    private static func paths(_ write: RemoteWrite) -> String {
      write.mutations.map(\.path.description).joined(separator: ", ")
    }
  }

  init(_ remote: LoopbackRemote, _ user: String?, _ handler: @escaping @Sendable (WriteStreamEvent) -> Void) {
    self.remote = remote
    self.user = user
    self.handler = handler
  }

  // MARK: The client's side

  func handshake(_ token: [UInt8], runs: [RunRegistration]) { ask(.handshake(runs)) }

  func write(_ write: RemoteWrite) { ask(.write(write)) }

  func close() { remote.scheduler.run { [self] in end() } }

  private func ask(_ request: Request) {
    remote.scheduler.run { [self] in
      guard !isClosed else { return }
      switch remote.nextDelivery() {
      case .isLost:
        remote.note("loses: \(request)")
        breakConnection()
      case .arrives: send(request)
      case .isDuplicated:
        send(request)
        if case .write(let write) = request { send(.copy(write)) }
      }
    }
  }

  private func send(_ request: Request) {
    let latency = remote.latency()
    remote.note("sends: \(request), \(latency) µs")
    up?.send(request, after: latency)
  }

  // MARK: On the scheduler

  func start(_ number: Int, _ authority: Authority) {
    self.number = number
    self.authority = authority
    up = LoopbackLine(remote.scheduler) { [weak self] in self?.take($0) }
    down = LoopbackLine(remote.scheduler, handler)
    down?.send(.opened, after: remote.latency())
  }

  func refuse() {
    isClosed = true
    let (handler, error) = (handler, LoopbackRemote.unreachable)
    let latency = remote.latency()
    remote.note("cannot connect, \(latency) µs")
    remote.scheduler.run(after: latency) { handler(.closed(error)) }
  }

  func breakConnection(_ error: RemoteError = LoopbackRemote.unreachable) {
    guard !isClosed else { return }
    end()
    let handler = handler
    let latency = remote.latency()
    remote.note("loses its connection for writes, \(latency) µs")
    remote.scheduler.run(after: latency) { handler(.closed(error)) }
  }

  private func end() {
    isClosed = true
    up?.close()
    down?.close()
    if let number { remote.forgetWrite(number) }
  }

  private func take(_ request: Request) {
    guard let authority else { return }
    switch request {
    case .handshake(let runs): open(runs, authority)
    case .copy(let write): _ = try? authority.take(write, as: user)
    case .write(let write):
      if remote.rejectsTransiently() {
        remote.note("is to try again: \(request)")
        return close(with: .closed(RemoteError(.aborted, "Try again.")))
      }
      do throws(RemoteError) {
        guard let taken = try authority.take(write, as: user) else { return close(with: .overtaken) }
        deliver(.answered(taken.version, taken.results, token: [1]))
      } catch {
        close(with: .closed(error))
      }
    }
  }

  private func open(_ runs: [RunRegistration], _ authority: Authority) {
    do throws(RemoteError) {
      if !runs.isEmpty {
        guard deliver(.registered(try authority.ledger.register(runs, as: user))) else { return }
      }
      deliver(.handshakeComplete(token: [1]))
    } catch {
      close(with: .closed(error))
    }
  }

  /// Sends an event. Returns false if it is lost and the connection breaks.
  @discardableResult private func deliver(_ event: WriteStreamEvent) -> Bool {
    if case .isLost = remote.nextDelivery() {
      remote.note("does not get: \(Self.text(event))")
      breakConnection()
      return false
    }
    let latency = remote.latency()
    remote.note("is sent: \(Self.text(event)), \(latency) µs")
    down?.send(event, after: latency)
    return true
  }

  private static func text(_ event: WriteStreamEvent) -> String {
    switch event {
    case .opened: "connection for writes"
    case .registered: "the registration of its runs"
    case .handshakeComplete: "handshake"
    case .answered: "the acceptance of a write"
    case .overtaken: "that a write was overtaken"
    case .closed(let error): "the end of the connection: \(error?.description ?? "no error")"
    }
  }

  /// Closes the stream after the answers in transit have arrived.
  private func close(with event: WriteStreamEvent) {
    up?.close()
    guard deliver(event) else { return }
    isClosed = true
    if let number { remote.forgetWrite(number) }
  }
}

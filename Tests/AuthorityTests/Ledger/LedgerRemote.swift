// A remote that is a ledger: it accepts writes, and its watch streams deliver nothing.

import ByteStore
import DocumentStore
import Harness
import OfflineSync

@testable import Authority

final class LedgerRemote: Remote {
  /// The messages about the next batches that are lost.
  enum Fault { case none, losesWrites, losesAnswers }

  private struct State {
    var ledger: WriteLedger
    var fault = Fault.none
    var isReachable = true
    var registers = true
    var registrations: [[RunRegistration]] = []
    var writes: [RemoteWrite] = []
  }

  private let state: Locked<State>
  private let scheduler: VirtualScheduler

  init(_ ledger: WriteLedger, on scheduler: VirtualScheduler) {
    state = Locked(State(ledger: ledger))
    self.scheduler = scheduler
  }

  func setFault(_ fault: Fault) { state.withLock { $0.fault = fault } }
  func setReachable(_ isReachable: Bool) { state.withLock { $0.isReachable = isReachable } }
  /// Makes the remote one that ignores runs, like a server of another maker.
  func ignoreRuns() { state.withLock { $0.registers = false } }
  /// Another authority answers from here on.
  func setLedger(_ ledger: WriteLedger) { state.withLock { $0.ledger = ledger } }

  /// The registrations of each handshake.
  var registrations: [[RunRegistration]] { state.withLock { $0.registrations } }
  /// The batches that arrived.
  var writes: [RemoteWrite] { state.withLock { $0.writes } }

  let documentsName = "projects/ledger/databases/(default)/documents"
  private static let unreachable = RemoteError(.unavailable, "The authority cannot be reached.")

  // MARK: The write stream

  func openWriteStream(
    as user: String?, _ handler: @escaping @Sendable (WriteStreamEvent) -> Void
  ) -> any WriteStream {
    let stream = Writes(self, user, handler)
    let isReachable = state.withLock { $0.isReachable }
    scheduler.run { stream.tell(isReachable ? .opened : .closed(Self.unreachable)) }
    return stream
  }

  private final class Writes: WriteStream {
    private let remote: LedgerRemote
    private let user: String?
    private let handler: @Sendable (WriteStreamEvent) -> Void
    private let isClosed = Locked(false)

    init(
      _ remote: LedgerRemote, _ user: String?, _ handler: @escaping @Sendable (WriteStreamEvent) -> Void
    ) {
      self.remote = remote
      self.user = user
      self.handler = handler
    }

    func tell(_ event: WriteStreamEvent) {
      guard !isClosed.withLock({ $0 }) else { return }
      if case .closed = event { close() }
      handler(event)
    }

    func close() { isClosed.withLock { $0 = true } }

    func handshake(_ token: [UInt8], runs: [RunRegistration]) {
      remote.scheduler.run { [self] in
        remote.state.withLock { $0.registrations.append(runs) }
        do throws(RemoteError) {
          let (ledger, registers) = remote.state.withLock { ($0.ledger, $0.registers) }
          if registers { tell(.registered(try ledger.register(runs, as: user))) }
          tell(.handshakeComplete(token: [1]))
        } catch {
          tell(.closed(error))
        }
      }
    }

    func write(_ write: RemoteWrite) { remote.scheduler.run { [self] in take(write) } }

    private func take(_ write: RemoteWrite) {
      guard !isClosed.withLock({ $0 }) else { return }
      let (ledger, fault, registers) = remote.state.withLock { ($0.ledger, $0.fault, $0.registers) }
      guard fault != .losesWrites else { return tell(.closed(LedgerRemote.unreachable)) }
      remote.state.withLock { $0.writes.append(write) }
      do throws(RemoteError) {
        var write = write
        if !registers {
          let run = RunRegistration(queue: write.id.queue, run: write.id.run)
          write.registration = try ledger.register(run, as: user)
        }
        let answer = try ledger.take(write, as: user)
        guard fault != .losesAnswers else { return tell(.closed(LedgerRemote.unreachable)) }
        guard let answer else { return tell(.overtaken) }
        tell(.answered(answer.version, answer.results, token: [1]))
      } catch {
        tell(.closed(error))
      }
    }
  }

  // MARK: Everything else

  func openWatchStream(
    as user: String?, _ handler: @escaping @Sendable (WatchStreamEvent) -> Void
  ) -> any WatchStream { Silence() }

  private struct Silence: WatchStream {
    func watch(_ target: WatchTarget) {}
    func unwatch(_ id: TargetID) {}
    func close() {}
  }

  func documents(
    at paths: [DocumentPath], as user: String?,
    _ answer: @escaping @Sendable (Result<[RemoteDocument], RemoteError>) -> Void
  ) { answer(.failure(Self.unreachable)) }

  func commit(
    _ mutations: [Mutation], as user: String?,
    _ answer: @escaping @Sendable (Result<SnapshotVersion, RemoteError>) -> Void
  ) { answer(.failure(Self.unreachable)) }

  func aggregate(
    _ aggregates: [Aggregate], over query: StructuredQuery, as user: String?,
    _ answer: @escaping @Sendable (Result<[StoredValue], RemoteError>) -> Void
  ) { answer(.failure(Self.unreachable)) }
}

// A remote whose server, credentials and time are the test's.

import ByteStore
import DocumentStore
import FirestoreRemote
import FirestoreWire
import Harness
import OfflineSync

final class ScriptedRemote: Sendable {
  static let database = DatabaseName(projectID: "shop", databaseID: "(default)")

  let scheduler = VirtualScheduler()
  let channels = ScriptedChannels()
  let transport = ScriptedTransport()
  let tokens = ScriptedTokens()
  let appTokens = ScriptedTokens()
  let remote: FirestoreRemote

  init(
    hasCredentials: Bool = false, hasAppCheck: Bool = false,
    _ change: (inout FirestoreRemoteOptions) -> Void = { _ in }
  ) {
    var options = FirestoreRemoteOptions(project: "shop")
    change(&options)
    remote = FirestoreRemote(
      options, transport: transport, channels: channels, on: scheduler,
      tokens: (hasCredentials ? tokens.fetch : nil, hasAppCheck ? appTokens.fetch : nil))
  }

  /// Runs what is due now.
  func play() { scheduler.play(for: 0) }

  // MARK: Streams

  func watch(as user: String? = nil) -> (stream: any WatchStream, events: Events<WatchStreamEvent>) {
    let events = Events<WatchStreamEvent>()
    let stream = remote.openWatchStream(as: user) { events.add($0) }
    play()
    return (stream, events)
  }

  func write(as user: String? = nil) -> (stream: any WriteStream, events: Events<WriteStreamEvent>) {
    let events = Events<WriteStreamEvent>()
    let stream = remote.openWriteStream(as: user) { events.add($0) }
    play()
    return (stream, events)
  }
}

/// The events of a stream, as text.
final class Events<Event: Sendable>: Sendable {
  private let list = Locked<[Event]>([])

  func add(_ event: Event) { list.withLock { $0.append(event) } }
  var all: [Event] { list.withLock { $0 } }
  var last: Event? { all.last }
}

/// Tokens that a test gives.
final class ScriptedTokens: Sendable {
  typealias Answer = Result<FirestoreToken?, any Error>

  struct Fetch: Sendable {
    let request: FirestoreTokenRequest
    let done: @Sendable (Answer) -> Void
  }

  private let fetches = Locked<[Fetch]>([])
  private let cancels = Locked(0)

  var all: [Fetch] { fetches.withLock { $0 } }
  var cancelCount: Int { cancels.withLock { $0 } }

  var fetch: TokenFetch {
    { [self] request, done in
      fetches.withLock { $0.append(Fetch(request: request, done: done)) }
      return { [self] in cancels.withLock { $0 += 1 } }
    }
  }

  func give(_ text: String?, to index: Int) { all[index].done(.success(text.map { FirestoreToken($0) })) }
}

extension FirestoreTokenRequest {
  var summary: String { "\(user ?? "nobody") \(refused?.value ?? "-")" }
}

extension DocumentPath {
  init(_ text: String) { self.init(unchecked: text.split(separator: "/").map(String.init)) }
}

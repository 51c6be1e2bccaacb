// A client and a server over sockets, and a network that is lost without a sign.

import ByteStore
import DocumentStore
import FirestoreRemote
import HTTPClient
import Harness
import OfflineSync
import ServerHarness
import Testing

#if Server
@Suite struct ServedNetworkTests {
  /// Without new connections, neither the write nor its result would ever arrive.
  @Test(.timeLimit(.minutes(2))) func aClientThatChangesItsNetworkSyncsAtOnce() async throws {
    try await ServedStore.with { served in
      let host = "127.0.0.1:\(served.port)"
      let transport = AbandonedTransport(SystemTransport.make(host: host, isTLS: false))
      let network = ReportedNetworkMonitor(.available(NetworkPath("Wi-Fi")))
      let ann = try Phone(over: transport, host, network)
      #expect(try ann.add(1, to: "rooms/a").error() == nil)
      ann.wait(for: 1, at: "rooms/a")
      transport.loseConnections()
      let write = try ann.add(2, to: "rooms/a")
      network.report(.available(NetworkPath("mobile")))
      #expect(write.error() == nil)
      ann.wait(for: 3, at: "rooms/a")
      #expect(try served.documents(in: "rooms").map { $0.fields["n"] } == [.integer(3)])
      ann.stop()
    }
  }

  @Test(.timeLimit(.minutes(2))) func aClientWithoutANetworkHasCachedResultsAtOnce() async throws {
    try await ServedStore.with { served in
      let host = "127.0.0.1:\(served.port)"
      let transport = AbandonedTransport(SystemTransport.make(host: host, isTLS: false))
      let network = ReportedNetworkMonitor(.available(NetworkPath("Wi-Fi")))
      let ann = try Phone(over: transport, host, network)
      #expect(try ann.add(1, to: "rooms/a").error() == nil)
      ann.wait(for: 1, at: "rooms/a")
      transport.loseConnections()
      network.report(.unavailable)
      #expect(ann.wait { $0.isFromCache }?.documents.count == 1)
      ann.stop()
    }
  }
}

/// A transport whose connections can be lost, as those of a network that a device has left.
private final class AbandonedTransport: WebTransport {
  private let transport: any WebTransport
  /// Whether the present connections are lost, and the number of times that they were renewed.
  private let state = Locked((isLost: false, renewals: 0))

  init(_ transport: any WebTransport) { self.transport = transport }

  /// Nothing that is sent arrives from here on, in either direction, until the connections are renewed.
  func loseConnections() { state.withLock { $0.isLost = true } }

  func renewConnections() {
    transport.renewConnections()
    state.withLock { state in state = (false, state.renewals + 1) }
  }

  func begin(
    _ request: WebRequest, _ handler: @escaping @Sendable (WebEvent) -> Void
  ) -> any WebExchange {
    let (isLost, renewals) = state.withLock { $0 }
    if isLost { return LostExchange() }
    return transport.begin(request) { [state] event in
      if state.withLock({ !$0.isLost && $0.renewals == renewals }) { handler(event) }
    }
  }

  private struct LostExchange: WebExchange {
    func cancel() {}
  }
}
#endif

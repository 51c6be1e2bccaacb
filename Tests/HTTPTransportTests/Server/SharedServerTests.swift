// Tests of the numbers of connections, and of the descriptors that they may have.

#if Server
import Harness
import Testing

@testable import HTTPTransport

@Suite struct SharedServerTests {
  private let refusals = RefusalRecorder()

  private func server(_ change: (inout HTTPServerOptions) -> Void) -> SharedServer {
    var probes = ListenAddress(host: "127.0.0.1", port: 0)
    probes.hasReserve = true
    var options = HTTPServerOptions([ListenAddress(host: "127.0.0.1", port: 0), probes])
    change(&options)
    return SharedServer(options, handler: RequestRecorder(), observer: refusals, loopCount: 2)
  }

  /// Connects as many clients. Returns how many were admitted.
  @discardableResult
  private func admit(
    _ server: SharedServer, _ count: Int, from peer: String = "192.0.2.1", isLoopback: Bool = false,
    listener: Int = 0
  ) -> Int {
    (0..<count).count { _ in
      var info = ConnectionInfo(
        number: server.nextNumber(), peer: peer, isLoopback: isLoopback, version: 0, listener: listener)
      info.isProxy = server.isProxy(peer)
      return server.admit(info, of: peer) != nil
    }
  }

  @Test func connectionsOfAnAddressAreLimited() {
    let server = server { $0.limits.connectionsPerAddressMax = 3 }
    #expect(admit(server, 5) == 3)
    #expect(refusals.refusals == [.connectionsPerAddress, .connectionsPerAddress])
    #expect(admit(server, 2, from: "192.0.2.2") == 2, "another address has connections of its own")
  }

  @Test func connectionsOfThisMachineAndOfProxiesDoNotCount() {
    let server = server {
      $0.limits.connectionsPerAddressMax = 3
      $0.isProxy = { $0 == "192.0.2.9" }
    }
    #expect(admit(server, 10, from: "127.0.0.1", isLoopback: true) == 10)
    #expect(admit(server, 10, from: "192.0.2.9") == 10)
    #expect(admit(server, 4) == 3)
    #expect(server.connectionCount == 23)
  }

  @Test func connectionsGoToTheLoopThatHasFewest() {
    let server = server { _ in }
    let infos = (0..<4).map { ConnectionInfo(number: $0, peer: "127.0.0.1", isLoopback: true, version: 0) }
    #expect(infos.map { server.admit($0, of: "127.0.0.1") } == [0, 1, 0, 1])
  }

  @Test func probesAreAcceptedWhenClientsHaveAllConnections() {
    let server = server { $0.limits.connectionsMax = 10 }
    #expect(admit(server, 20) == 10)
    #expect(refusals.refusals.allSatisfy { $0 == .connections })
    #expect(admit(server, 100, from: "127.0.0.1", isLoopback: true, listener: 1) == 64)
  }

  @Test func someDescriptorsAreKeptForFiles() {
    func end(_ limit: Int32, _ hasReserve: Bool = false) -> Int32 {
      SharedServer.descriptorsEnd(limit: limit, hasReserve: hasReserve)
    }
    #expect(end(256) == 192 && end(1024) == 768)
    #expect(end(12_000) == 10_976 && end(.max) == .max - 1024)
    #expect(end(256, true) == 224 && end(12_000, true) == 11_488)
  }
}
#endif

// Short runs of the campaign of listeners, and that its checks find what they are for.

import DocumentStore
import FirestoreServer
import FirestoreWire
import ServerHarness
import Testing

#if Server
@Suite(.serialized, .timeLimit(.minutes(2))) struct ListenerRunTests {
  private static var options: ListenerOptions {
    var options = ListenerOptions()
    options.seconds = 3
    options.sampleSeconds = 0.75
    (options.channels, options.streams, options.collections) = (10, 10, 4)
    options.commitsPerSecond = 40
    options.reconnectSeconds = 1
    options.abandons = false
    return options
  }

  private func report(
    _ change: (inout ListenerOptions) -> Void = { _ in }
  ) async throws -> ListenerRun.Report {
    var options = Self.options
    change(&options)
    let load = options
    var configuration = ServerConfiguration()
    configuration.isEmulator = true
    configuration.port = 0
    configuration.adminPort = 0
    let server = try FirestoreServer(
      store: try DocumentStore.openInMemory(), database: "projects/demo-abuse/databases/(default)",
      configuration: configuration)
    let (addresses, continuation) = AsyncStream.makeStream(of: ServerAddresses.self)
    let running = Task { try await server.run { continuation.yield($0) } }
    defer { running.cancel() }
    var iterator = addresses.makeAsyncIterator()
    let ready = try #require(await iterator.next())
    // Other tests change the memory and the descriptors of this process, so no process is watched.
    let target = AbuseTarget(port: ready.port, adminPort: try #require(ready.adminPort), process: 0)
    return try await ListenerRun.run(target, load)
  }

  @Test func eachListenerHasEachChangeOnce() async throws {
    let report = try await report()
    #expect(report.failures == [])
    let last = try #require(report.samples.last)
    #expect(last.commits > 20)
    #expect(last.changes > last.commits)
    #expect(last.reconnects >= 20)
    #expect((last.channels, last.streams) == (10, 20))
    #expect(report.end.connections <= report.base.connections)
  }

  @Test(arguments: [3, 13]) func aLostChangeIsFound(listener: Int) async throws {
    let report = try await report { $0.fault = .loses(listener: listener) }
    #expect(report.failures.first?.contains("listener \(listener) ") == true, "\(report.failures)")
    #expect(report.failures.first?.contains("are lost") == true, "\(report.failures)")
  }

  @Test(arguments: [3, 13]) func aRepeatedChangeIsFound(listener: Int) async throws {
    let report = try await report { $0.fault = .repeats(listener: listener) }
    #expect(report.failures.first?.contains("listener \(listener) ") == true, "\(report.failures)")
    #expect(report.failures.first?.contains("comes twice") == true, "\(report.failures)")
  }

  @Test func sessionsThatNoClientUsesAreFound() async throws {
    let report = try await report { $0.fault = .keepsSessions }
    #expect(report.failures.first?.contains("the server has ") == true, "\(report.failures)")
    #expect(report.failures.first?.contains(" sessions and ") == true, "\(report.failures)")
  }
}
#endif

// The client of WebChannel against Google's emulator, without and with faults on the way.

import DocumentStore
import FirestoreWire
import Foundation
import Harness
import ServerHarness
import Testing

#if Server
@Suite struct ChannelClientTests {
  static let emulatorPort: Int? = {
    let host = ProcessInfo.processInfo.environment["FIRESTORE_EMULATOR_HOST"]
    return host.flatMap { $0.split(separator: ":").last }.flatMap { Int($0) }
  }()

  @Test(.enabled("FIRESTORE_EMULATOR_HOST names no emulator") { emulatorPort != nil }, arguments: [0, 3])
  func writesAndListensOnTheEmulator(oneIn: Int) throws {
    let port = try #require(Self.emulatorPort)
    for seed in 1..<UInt64(5) {
      let loop = PollLoop()
      let proxy = try FaultyProxy(
        loop: loop, upstreamPort: port, faults: ProxyFaults(seed: seed, oneIn: oneIn))
      defer { proxy.close() }
      let database = DatabaseName(projectID: "demo-\(UInt32.random(in: 0 ... .max))", databaseID: "(default)")
      func client(_ method: String, _ number: UInt64) -> WebChannelClient {
        var options = ChannelClientOptions(method: method, database: database.text)
        options.seed = SeededRandom.seed(seed, number)
        options.answerMilliseconds = 200
        options.silenceMilliseconds = 200
        options.attemptsMax = 50
        options.polls = number == 1 && seed % 2 == 0
        return WebChannelClient(options, port: proxy.port, loop: loop)
      }
      let all = ModelTarget.Subject.query(StructuredQuery(.collection(CollectionPath(unchecked: ["c"]))))
      let watcher = ChannelWatcher(database, [all]) { client("Listen", 1) }
      let writer = ChannelWriter(
        client("Write", 2), database, collection: "c", name: "w",
        plan: (8, ChannelWriter.Ending.allCases[Int(seed) % 4]))
      watcher.begin()
      writer.begin()
      let isDone = loop.run(seconds: 20) {
        writer.isOver && (watcher.documentCount == 9 || watcher.violation != nil)
      }
      #expect(isDone, "\(writer.acknowledged) \(watcher.documentCount ?? -1)")
      #expect(writer.violation == nil)
      #expect(watcher.violation == nil)
      watcher.finish()
      #expect(loop.run(seconds: 5) { watcher.isOver })
    }
  }
}
#endif

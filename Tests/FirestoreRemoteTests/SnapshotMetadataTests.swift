// The marks of snapshots that docs/guides/sync.md lists, with a server over sockets.

import ByteStore
import DocumentStore
import FirestoreRemote
import HTTPClient
import Harness
import OfflineSync
import ServerHarness
import Testing

#if Server
@Suite struct SnapshotMetadataTests {
  private enum Mark {
    case synced
    case sending
    case offline
    case offlinePending

    init(_ snapshot: ViewSnapshot) {
      switch (snapshot.isFromCache, snapshot.hasPendingWrites) {
      case (false, false): self = .synced
      case (false, true): self = .sending
      case (true, false): self = .offline
      case (true, true): self = .offlinePending
      }
    }
  }

  /// A phone, and what is between it and the server.
  private struct Device {
    let transport: HeldTransport
    let network: ReportedNetworkMonitor
    let phone: Phone

    /// Opens the phone, which receives nothing of the held streams.
    init(
      _ served: ServedStore, in directory: TemporaryDirectory, holding streams: [HeldTransport.Stream] = [],
      _ status: NetworkStatus = .available(NetworkPath("Wi-Fi"))
    ) throws {
      let host = "127.0.0.1:\(served.port)"
      transport = HeldTransport(SystemTransport.make(host: host, isTLS: false))
      for stream in streams { transport.hold(stream) }
      network = ReportedNetworkMonitor(status)
      phone = try Phone(over: transport, host, network, in: directory.path)
    }

    /// The marks of all snapshots, without repetitions.
    var marks: [Mark] {
      phone.received.map { Mark($0) }.reduce(into: []) { marks, mark in
        if marks.last != mark { marks.append(mark) }
      }
    }

    /// Waits for a snapshot with this mark, and with these numbers in its documents.
    func wait(for mark: Mark, _ numbers: [Int64]) {
      let values: [StoredValue?] = numbers.map { StoredValue.integer($0) }
      phone.wait { Mark($0) == mark && $0.documents.map { $0.fields["n"] } == values }
    }
  }

  /// The answer empties the outbox. The listener has the values of the client until its document arrives, and
  /// they stay marked.
  @Test(.timeLimit(.minutes(2))) func aWriteIsMarkedUntilItsDocumentArrives() async throws {
    try await ServedStore.with { served in
      let directory = TemporaryDirectory()
      let ann = try Device(served, in: directory)
      // An empty first result waits for the server.
      ann.wait(for: .synced, [])
      ann.transport.hold(.listen)
      let write = try ann.phone.add(1, to: "rooms/a")
      ann.wait(for: .sending, [1])
      #expect(write.error() == nil)
      #expect(try ann.phone.pendingCount == 0)
      #expect(ann.marks == [.synced, .sending])
      ann.transport.release(.listen)
      ann.wait(for: .synced, [1])
      #expect(ann.marks == [.synced, .sending, .synced])
      try ann.phone.close()
      withExtendedLifetime(directory) {}
    }
  }

  @Test(.timeLimit(.minutes(2))) func aTimeOfflineIsMarkedAlsoAfterARestart() async throws {
    try await ServedStore.with { served in
      let directory = TemporaryDirectory()
      let first = try Device(served, in: directory)
      first.wait(for: .synced, [])
      #expect(try first.phone.add(1, to: "rooms/a").error() == nil)
      first.wait(for: .synced, [1])
      first.phone.setOnline(false)
      first.wait(for: .offline, [1])
      try first.phone.add(2, to: "rooms/a")
      first.wait(for: .offlinePending, [3])
      #expect(first.marks == [.synced, .sending, .synced, .offline, .offlinePending])
      try first.phone.close()

      // The app is started again without a network.
      let second = try Device(served, in: directory, holding: [.listen, .write], .unavailable)
      second.wait(for: .offlinePending, [3])
      second.network.report(.available(NetworkPath("Wi-Fi")))
      // The client has processed the report, and has left the streams of before.
      #expect(try second.phone.pendingCount == 1)
      second.transport.release(.listen)
      second.wait(for: .sending, [3])
      second.transport.release(.write)
      second.wait(for: .synced, [3])
      #expect(second.marks == [.offlinePending, .sending, .synced])
      #expect(try second.phone.pendingCount == 0)
      try second.phone.close()

      // The first result comes from the cache.
      let third = try Device(served, in: directory, holding: [.listen])
      third.wait(for: .offline, [3])
      third.transport.release(.listen)
      third.wait(for: .synced, [3])
      #expect(third.marks == [.offline, .synced])
      try third.phone.close()
      withExtendedLifetime(directory) {}
    }
  }

  @Test(.timeLimit(.minutes(2))) func aRejectedWriteLeavesTheDocumentOfTheServer() async throws {
    try await ServedStore.with { served in
      let directory = TemporaryDirectory()
      let ann = try Device(served, in: directory)
      ann.wait(for: .synced, [])
      ann.phone.setOnline(false)
      ann.wait(for: .offline, [])
      let path = DocumentPath("rooms/a")
      try served.store.commit([.set(path, StoredMap([("n", .integer(5))]))])
      let write = ann.phone.write(
        .set(path, StoredMap([("n", .integer(7))]), precondition: .exists(false)))
      ann.wait(for: .offlinePending, [7])
      ann.phone.setOnline(true)
      #expect(write.error() != nil)
      ann.wait(for: .synced, [5])
      #expect(try ann.phone.pendingCount == 0)
      try ann.phone.close()
      withExtendedLifetime(directory) {}
    }
  }
}
#endif

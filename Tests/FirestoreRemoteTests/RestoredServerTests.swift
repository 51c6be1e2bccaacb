// Clients of a server that is restored from a backup while they have writes to send.

import ByteStore
import DocumentStore
import FirestoreRemote
import Foundation
import HTTPClient
import Harness
import OfflineSync
import Testing

#if Server
@Suite struct RestoredServerTests {
  enum Backup: CaseIterable {
    /// The files of the stopped server, which have the id of the original.
    case copyOfFiles
    /// A backup that the store wrote. It has an id of its own.
    case backupOfStore

    func make(of directory: TemporaryDirectory, in backup: TemporaryDirectory) throws {
      switch self {
      case .copyOfFiles: try FileManager.default.copyItem(atPath: directory.path, toPath: backup.path)
      case .backupOfStore:
        let store = try DocumentStore.open(directory.path)
        try store.backup(to: backup.path)
        try store.close()
      }
    }
  }

  enum Pending: CaseIterable {
    case neverSent
    /// The server has applied the write before it was set back, and its answer was lost.
    case answerLost
  }

  private struct Writer {
    let transport: HeldTransport
    let phone: Phone

    init(_ port: Int) throws {
      let host = "127.0.0.1:\(port)"
      transport = HeldTransport(SystemTransport.make(host: host, isTLS: false))
      let network = ReportedNetworkMonitor(.available(NetworkPath("Wi-Fi")))
      phone = try Phone(over: transport, host, network)
    }

    func interrupt(_ pending: Pending) {
      switch pending {
      case .neverSent: phone.setOnline(false)
      case .answerLost: transport.hold(.write)
      }
    }

    func resume(_ pending: Pending) {
      switch pending {
      case .neverSent: phone.setOnline(true)
      case .answerLost: transport.lose(.write)
      }
    }
  }

  private static let path = "rooms/a"

  /// Each digit of the number counts one write. Ann's run is registered in the backup. Bob's is not, because
  /// he writes for the first time after it was made.
  @Test(.timeLimit(.minutes(5)), arguments: Backup.allCases, Pending.allCases)
  func writesOfTheOutboxCountOnceAfterARestore(backup: Backup, pending: Pending) async throws {
    try await onThread {
      let (directory, copy) = (TemporaryDirectory(), TemporaryDirectory())
      let server = RestartedServer(in: directory.path)
      let port = try server.start()
      let (ann, bob, cy) = (try Writer(port), try Writer(port), try Phone(port))
      let phones = [ann.phone, bob.phone, cy]
      #expect(try ann.phone.add(1, to: Self.path).error() == nil)
      for phone in phones { phone.wait(for: 1, at: Self.path) }

      try server.stop()
      try backup.make(of: directory, in: copy)
      #expect(try server.start() == port)
      #expect(try ann.phone.add(10, to: Self.path).error() == nil)
      #expect(try bob.phone.add(1_000, to: Self.path).error() == nil)
      for phone in phones { phone.wait(for: 1_011, at: Self.path) }

      for writer in [ann, bob] { writer.interrupt(pending) }
      let waits = [try ann.phone.add(100, to: Self.path), try bob.phone.add(10_000, to: Self.path)]
      if pending == .answerLost { cy.wait(for: 11_111, at: Self.path) }
      #expect(try ann.phone.pendingCount == 1 && bob.phone.pendingCount == 1)

      try server.stop()
      try FileManager.default.removeItem(atPath: directory.path)
      try FileManager.default.moveItem(atPath: copy.path, toPath: directory.path)
      for writer in [ann, bob] where pending == .answerLost { writer.resume(pending) }
      #expect(try server.start() == port)
      for writer in [ann, bob] where pending == .neverSent { writer.resume(pending) }

      for wait in waits { #expect(wait.error() == nil) }
      for phone in phones {
        phone.wait { snapshot in
          let numbers = snapshot.documents.map { $0.fields["n"] }
          return !snapshot.isFromCache && !snapshot.hasPendingWrites && numbers == [.integer(10_101)]
        }
        #expect(try phone.pendingCount == 0)
        phone.stop()
      }
      try server.stop()
      let store = try DocumentStore.open(directory.path)
      #expect(try store.document(at: DocumentPath(Self.path))?.fields["n"] == .integer(10_101))
      try store.close()
      withExtendedLifetime((directory, copy)) {}
    }
  }
}
#endif

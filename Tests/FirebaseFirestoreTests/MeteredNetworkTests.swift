// A metered network as an app sees it: the sync pauses, says why, and continues by itself.

import Authority
import DocumentStore
import FirebaseFirestore
import Foundation
import OfflineSync
import Testing

@Suite struct MeteredNetworkTests {
  private let network = ReportedNetworkMonitor(MeteredNetworkTests.mobile)
  private let database: SimulatedDatabase

  private static let mobile = NetworkStatus.available(NetworkPath("mobile", .metered))
  private static let wifi = NetworkStatus.available(NetworkPath("Wi-Fi"))

  init() throws {
    database = try SimulatedDatabase { [network] settings in
      settings.networkMonitor = network
      settings.networkUse = .unmetered
    }
    try database.put("rooms/a", 1)
  }

  /// The results that an app sees of a database.
  private final class Screen: @unchecked Sendable {
    // The conformance is unchecked, because a simulation runs on one thread.
    var progress: [SyncProgress] = []
    var ids: [String] = []
    var isFromCache = true
    var ends: [String] = []

    init(_ firestore: Firestore) {
      firestore.addSyncProgressListener { value, _ in if let value { self.progress.append(value) } }
      firestore.collection("rooms").addSnapshotListener(includeMetadataChanges: true) { snapshot, _ in
        guard let snapshot else { return }
        self.ids = snapshot.documents.map(\.documentID)
        self.isFromCache = snapshot.metadata.isFromCache
      }
    }

    func note(_ name: String) -> ((any Error)?) -> Void {
      { error in self.ends.append(error == nil ? name : "\(name) \((error! as NSError).code)") }
    }
  }

  @Test func theDatabasePausesFromTheStartAndContinuesByItself() throws {
    let firestore = database.firestore
    let screen = Screen(firestore)
    firestore.document("rooms/own").setData(["n": 2], completion: screen.note("write"))
    firestore.waitForPendingWrites(completion: screen.note("wait"))
    firestore.document("rooms/a").getDocument(source: .server) { screen.note("server")($1) }
    firestore.collection("rooms").getDocuments { snapshot, error in
      screen.note("read \(snapshot?.count ?? -1)")(error)
    }
    database.pass(seconds: 3600)
    #expect(screen.ids == ["own"] && screen.isFromCache)
    #expect(screen.ends == ["server \(FirestoreErrorCode.unavailable.rawValue)", "read 1"])
    let paused = try #require(screen.progress.last)
    #expect(paused.pause == .meteredNetwork && paused.connection == .offline)
    #expect(paused.pendingWriteCount == 1 && !paused.isSynced && paused.queries.map(\.state) == [.waiting])
    #expect(try database.authority.document(at: DocumentPath(["rooms", "own"])) == nil)

    network.report(Self.wifi)
    database.pass(seconds: 1)
    #expect(screen.ids == ["a", "own"] && !screen.isFromCache)
    #expect(Set(screen.ends.dropFirst(2)) == ["write", "wait"])
    #expect(screen.progress.last?.pause == nil && screen.progress.last?.isSynced == true)
    // A pause in the middle of the work.
    network.report(Self.mobile)
    try database.put("rooms/b", 3)
    database.pass(seconds: 3600)
    #expect(screen.ids == ["a", "own"] && screen.isFromCache)
    let pauses = [nil] + screen.progress.map(\.pause)
    #expect(
      zip(pauses, pauses.dropFirst()).filter { $0 != $1 }.map(\.1) == [.meteredNetwork, nil, .meteredNetwork])
  }

  @Test func theUserMayAllowItMeanwhile() throws {
    let firestore = database.firestore
    let screen = Screen(firestore)
    database.pass(seconds: 1)
    firestore.disableNetwork(completion: screen.note("disabled"))
    firestore.setNetworkUse(.any, completion: screen.note("any"))
    database.pass(seconds: 10)
    #expect(screen.ends == ["disabled", "any"])
    #expect(screen.isFromCache && screen.progress.last?.connection == .disabled)
    #expect(screen.progress.last?.pause == nil)
    firestore.enableNetwork(completion: screen.note("enabled"))
    database.pass(seconds: 1)
    #expect(!screen.isFromCache && screen.ids == ["a"] && screen.progress.last?.isSynced == true)
    firestore.setNetworkUse(.unmetered)
    database.pass(seconds: 1)
    #expect(screen.isFromCache && screen.progress.last?.pause == .meteredNetwork)
  }

  @Test func aTransactionSaysThatTheNetworkIsMetered() throws {
    let firestore = database.firestore
    var message = ""
    firestore.runTransaction({ transaction, _ in transaction.deleteDocument(firestore.document("rooms/a")) })
    {
      message = $1?.localizedDescription ?? "none"
    }
    database.pass(seconds: 1)
    #expect(message == "A transaction needs the remote, and the network is metered.")
  }

  @Test func settingsWithAnotherMonitorOrUseDiffer() {
    let settings = FirestoreSettings()
    let same = settings.copy() as? FirestoreSettings
    #expect(settings == same)
    settings.networkUse = .unmetered
    #expect(settings != same && settings == settings.copy() as? FirestoreSettings)
    settings.networkUse = .any
    settings.networkMonitor = network
    #expect(settings != same && settings == settings.copy() as? FirestoreSettings)
    #expect(settings.networkMonitor as? ReportedNetworkMonitor === network)
    same?.networkMonitor = network
    #expect(settings == same, "the same object, set again")
    same?.networkMonitor = ReportedNetworkMonitor()
    #expect(settings != same)
  }
}

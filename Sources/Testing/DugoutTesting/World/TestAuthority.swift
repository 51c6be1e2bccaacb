// The authority of a world: the database that all clients sync with.

internal import Authority
internal import ByteStore
internal import DocumentStore
public import FirebaseFirestore
internal import OfflineSync

/// A write that a client asks the authority for.
public struct TestWrite: Sendable, Hashable {
  /// The user of the client; nil if it has none.
  public let user: String?
  /// The path of the document, such as `rooms/1`.
  public let path: String
  /// Whether the write deletes the document.
  public let isDelete: Bool
}

/// The authority of a world.
public final class TestAuthority: Sendable {
  private static let user = "dugout.testing.authority"

  let store: DocumentStore
  let internalAuthority: Authority
  private let client: TestClient

  init(in world: WorldScheduler, log: @escaping @Sendable (String, String) -> Void) throws {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    store = try DocumentStore.open("/authority", options: options, platform: .simulated(in: world))
    internalAuthority = try Authority.of(store)
    let connection = TestConnection(to: internalAuthority, seed: 0, in: world) { log("authority", $0) }
    client = TestClient("authority", user: Self.user, connection: connection, in: world) { _ in }
  }

  /// A database whose connection to the authority has no faults and cannot be cut. Use it to write what
  /// others write, and to read what the authority has.
  public var firestore: Firestore { client.firestore }

  /// The client behind `firestore`.
  var internalClient: TestClient { client }

  /// Refuses the writes for which `isRefused` returns true, with the error `permissionDenied`. A batch is
  /// refused as a whole. Replaces the rule that was set before. Writes of `firestore` are never refused.
  public func refuseWrites(where isRefused: @escaping @Sendable (TestWrite) -> Bool) {
    var rules = AuthorityRules()
    rules.mayWrite = { user, mutations in
      guard user != Self.user, mutations.contains(where: { isRefused(TestWrite($0, user)) }) else {
        return nil
      }
      return RemoteError(.permissionDenied, "The authority of the test refuses this write.")
    }
    internalAuthority.setRules(rules)
  }

  /// Returns the documents that the authority has in a collection.
  func documents(_ query: StructuredQuery) throws -> [StoredDocument] { try store.documents(query) }
}

extension TestWrite {
  fileprivate init(_ mutation: Mutation, _ user: String?) {
    self.user = user
    path = mutation.path.description
    isDelete = if case .delete = mutation.change { true } else { false }
  }
}

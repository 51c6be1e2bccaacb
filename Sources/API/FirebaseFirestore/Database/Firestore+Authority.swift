// A database that is the authority of other databases.

public import Authority
private import DocumentStore

extension Firestore {
  /// Returns the authority over this database, with which other databases sync. While it lives, all calls
  /// return the same object, and the options of the first call hold.
  ///
  /// ```swift
  /// import Authority
  ///
  /// func openClient(of firestore: Firestore) async throws -> Firestore {
  ///   let settings = FirestoreSettings()
  ///   settings.remote = LoopbackRemote(authority: try await firestore.authority())
  ///   let client = Firestore.memory()
  ///   client.settings = settings
  ///   return client
  /// }
  /// ```
  ///
  /// The database is used as before: its listeners see the writes of clients, and the listeners of clients
  /// see its writes. Termination closes it for the clients, too: they are offline from then on, and their
  /// calls fail with `unavailable`. An instance that is opened later has another authority, for new remotes.
  ///
  /// Throws `failedPrecondition` if the database has a remote, or is read-only.
  nonisolated(nonsending) public func authority(
    options: AuthorityOptions = AuthorityOptions()
  ) async throws -> Authority {
    try await client().performedAfterWrites { view throws(DocumentStoreError) in
      try Authority.of(view.store, options: options)
    }
  }
}

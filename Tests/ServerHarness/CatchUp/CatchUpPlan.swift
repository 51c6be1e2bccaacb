// The sizes of a catch-up: a client that was away for a long time, while its server has changed.

#if Server
package struct CatchUpPlan: Sendable, Codable {
  /// The documents that the client has when it leaves.
  package var documents = 200_000
  /// The documents that change in the meantime. Of twenty, seventeen are replaced, two deleted and one new.
  package var changes = 100_000
  /// The writes that wait in the client. Half of them increment existing documents, half are new documents.
  package var writes = 10_000
  /// The days of simulated time.
  package var days = 30

  package init() {}
}

/// The ways for a client to come to the state of the server.
package enum CatchUpWay: String, Sendable, Codable, CaseIterable {
  /// The client has a token and the number of its documents.
  case resumed
  /// The server sends the whole answer after a reset, as Firestore's emulator does.
  case wholeAnswer
}

/// A task of a client, which may be a process of its own.
package enum CatchUpTask: Sendable, Codable {
  /// Gets all documents, disconnects and queues writes.
  case leave
  /// Opens its store at the end of the time, and syncs.
  case comeBack(CatchUpWay)
}

/// The findings of a client at the end of its task.
package struct CatchUpReport: Sendable, Codable {
  /// From the opening of the store until the server has confirmed all documents and all writes.
  package var seconds = 0.0
  package var processorSeconds = 0.0
  package var bytesReceived = 0
  package var bytesSent = 0
  /// The peak of the resident memory of the client's process.
  package var peakBytes = 0
  package var documents = 0
  /// The digest of the contents of all documents.
  package var digest: UInt64 = 0

  package init() {}
}
#endif

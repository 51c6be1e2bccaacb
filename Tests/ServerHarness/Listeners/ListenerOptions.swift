// The load of many listeners.

#if Server
import DocumentStore
import FirestoreWire
import Harness
import OfflineSync

/// The numbers of clients, of writes and of reconnects.
package struct ListenerOptions: Sendable {
  package var seconds = 60.0
  /// Listeners by WebChannel over HTTP/1.1.
  package var channels = 1000
  /// Listeners by gRPC.
  package var streams = 1000
  package var collections = 50
  package var commitsPerSecond = 50.0
  /// Each listener reconnects once in this time. A server closes idle connections after 300 seconds, and a
  /// client of WebChannel has one that only opens sessions.
  package var reconnectSeconds = 120.0
  package var sampleSeconds = 10.0
  /// Commits before the first listener. A store that is new takes more memory with each commit until its
  /// change feed has reached its limit, and its snapshots of the last minute differ in all pages.
  package var agingCommits = 0
  package var seed: UInt64 = 1
  /// Whether some clients disappear without ending their sessions, which the server keeps for a minute.
  package var abandons = true
  /// A fault of the clients, which a run must find.
  package var fault: Fault?

  package enum Fault: Sendable, Equatable {
    /// A listener ignores some changes, or takes them twice.
    case loses(listener: Int), repeats(listener: Int)
    /// Clients that come back keep their sessions of before, with their connections.
    case keepsSessions
  }

  package init() {}

  /// Documents of a collection, which commits replace in turn. A listener that is away for fewer commits
  /// misses none of them.
  static let documents = 64
  static let threads = 4
  /// A connection of HTTP/2 may have 100 requests.
  static let streamsPerConnection = 50

  static func collection(_ number: Int) -> String { "changes-\(number)" }

  var listeners: Int { channels + streams }
}

extension DatabaseName {
  /// The first message of a stream that listens to a collection.
  func listenRequest(_ collection: Int, token: [UInt8]) throws(Violation) -> Wire.ListenRequest {
    let path = CollectionPath(unchecked: [ListenerOptions.collection(collection)])
    var target = WatchTarget(SequenceWatch.target, StructuredQuery(.collection(path)))
    target.resumeToken = token
    if !token.isEmpty { target.expectedCount = ListenerOptions.documents }
    do {
      let (wire, labels) = try wire(TargetRequest(target))
      var request = Wire.ListenRequest()
      request.database = text
      request.targetChange = .addTarget(wire)
      request.labels = labels
      return request
    } catch {
      throw Violation("a request cannot be made: \(error)")
    }
  }
}
#endif

// The reasons why a client refuses data from its remote.

public import DocumentStore

/// The refusal of a piece of remote data that exceeds the limits of a database. The refused data never
/// reaches the store.
///
/// The affected listeners receive the refusal as an error and stay registered. All other data of the message
/// is processed.
public struct RemoteRefusal: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kinds of data that can be refused.
  public enum Subject: Hashable, Sendable {
    /// A document. Its previous version stays, and the client requests it again with the next connection.
    case document(DocumentPath)
    /// A resume token of a query. The last valid token stays in use.
    case resumeToken
    /// The time of a snapshot. The snapshot's changes are shown with the next snapshot that has a valid time.
    case snapshotTime
    /// The document count of an existence filter. The filter is ignored.
    case existenceFilter
    /// The answer to a call that does not belong to a stream.
    case answer
  }

  /// The refused data.
  public let subject: Subject
  /// The limit that was exceeded, as human-readable text.
  public let reason: String

  /// Creates a refusal. A long reason is truncated.
  public init(_ subject: Subject, _ reason: String) {
    self.subject = subject
    self.reason = Self.short(reason)
  }

  public var description: String {
    let what =
      switch subject {
      case .document(let path): "the document \(Self.short(path.description))"
      case .resumeToken: "a resume token"
      case .snapshotTime: "the time of a snapshot"
      case .existenceFilter: "an existence filter"
      case .answer: "an answer"
      }
    return "The remote sent \(what) that this database cannot accept: \(reason)"
  }

  /// Truncates long text, so that a path that is refused for its length does not fill the message.
  private static func short(_ text: String) -> String {
    text.utf8.count <= 600 ? text : "\(text.prefix(400))…"
  }
}

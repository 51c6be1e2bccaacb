// Reasons for which a client refuses what its remote sends.

public import DocumentStore

/// Something a remote sent that is beyond the limits of a database. It never reaches the store.
///
/// Listeners whose answers it belongs to are told it as an error, and go on. Everything else that came with it arrives.
public struct RemoteRefusal: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kinds of things that are refused.
  public enum Subject: Hashable, Sendable {
    /// One document. What was known of it stays, and the remote is asked for it again on the next connection.
    case document(DocumentPath)
    /// A token to resume a query with. The last one within the limits stays.
    case resumeToken
    /// The time of a snapshot. What came with it is shown with the next snapshot whose time is one.
    case snapshotTime
    /// The number of documents in an existence filter. The filter is ignored.
    case existenceFilter
    /// The answer to a question outside the streams.
    case answer
  }

  /// The refused thing.
  public let subject: Subject
  /// The limit that it passes, for people.
  public let reason: String

  /// Names what was refused, and why. A long reason is cut off.
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
    return "The remote sent \(what) that this database cannot take: \(reason)"
  }

  /// A path or a name that is refused for its length would make a message of that length.
  private static func short(_ text: String) -> String {
    text.utf8.count <= 600 ? text : "\(text.prefix(400))…"
  }
}

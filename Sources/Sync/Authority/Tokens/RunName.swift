// The name of one run of a queue, and where the authority keeps its records.

internal import ByteStore
internal import DocumentStore
internal import OfflineSync

/// A run of one user's queue. A user cannot name a run of another user.
struct RunName: Hashable, Sendable {
  /// The limit of the name of a queue or a user in bytes. The name of a queue contains its escaped user.
  private static let nameBytesMax = 32 << 10
  /// Longer names of documents are replaced by their digest.
  private static let documentNameBytesMax = 1000

  let user: String?
  let queue: String
  let run: RunID

  /// `__queues__/<user>:<queue>/__runs__/<run>`. User and queue are escaped. A user's name starts with "=",
  /// and "-" means no user. A long name is replaced by "#" and the digest of the name.
  var path: DocumentPath { DocumentPath(unchecked: queuePath.segments + [Self.runs, "\(run)"]) }

  /// Throws unless the names are within the limits.
  func check() throws(RemoteError) {
    let bytes = max(queue.utf8.count, user?.utf8.count ?? 0)
    guard bytes <= Self.nameBytesMax else {
      throw RemoteError(
        .invalidArgument,
        "The name of a queue or a user has \(bytes) bytes, and the limit is \(Self.nameBytesMax).")
    }
  }

  var queuePath: DocumentPath { Self.path(ofQueue: queue, of: user) }

  static let queues = "__queues__"
  static let runs = "__runs__"

  static func path(ofQueue queue: String, of user: String?) -> DocumentPath {
    let owner = user.map { "=\(EscapedName.encode($0))" } ?? "-"
    let name = "\(owner):\(EscapedName.encode(queue))"
    guard name.utf8.count > documentNameBytesMax else { return DocumentPath(unchecked: [queues, name]) }
    let digest = ContentDigest.sha256(of: Array(name.utf8).rawSpan)
    let digits = digest.map { byte in
      (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }
    return DocumentPath(unchecked: [queues, "#\(digits.joined())"])
  }

  static func collection(ofQueue path: DocumentPath) -> CollectionPath {
    CollectionPath(unchecked: path.segments + [runs])
  }
}

// The size limits of a client's commits, and the division of larger steps into several commits.

internal import DocumentStore

/// The size limits for the encoded writes of a step, in bytes. Tests use smaller limits.
package struct CommitSizes: Sendable {
  /// The maximum size of a step that is written as one commit. The limit of a WAL frame is higher, because
  /// the shapes of documents add to the size of a commit.
  package var singleCommitBytesMax: Int
  /// The maximum size of each commit of a divided step, and of each part of a large batch.
  package var part: Int

  package init(singleCommitBytesMax: Int = 14 << 20, part: Int = 4 << 20) {
    self.singleCommitBytesMax = singleCommitBytesMax
    self.part = part
  }
}

/// Groups of writes, packed into commits in order.
struct CommitParts {
  private let bytesMax: Int
  private var bytes = 0
  private(set) var commits: [[Mutation]] = []

  init(of bytesMax: Int) { self.bytesMax = bytesMax }

  /// Adds all writes of a group to one commit. A group that exceeds the limit gets a commit of its own.
  mutating func append(_ group: [Mutation]) {
    let size = group.commitBytes
    if commits.isEmpty || bytes + size > bytesMax {
      commits.append([])
      bytes = 0
    }
    commits[commits.count - 1] += group
    bytes += size
  }
}

extension [Mutation] {
  /// An upper bound for the size of these writes in a commit, in bytes.
  var commitBytes: Int { reduce(0) { $0 + $1.commitBytes } }
}

extension Mutation {
  /// The bytes that frame a key, its value and its names, plus a record header.
  private static let frameBytes = 40

  /// An upper bound for the size of this write in a commit, in bytes.
  var commitBytes: Int {
    let name = path.segments.reduce(Self.frameBytes) { $0 + $1.utf8.count + 3 }
    // The change feed stores the names of users' documents a second time.
    let names = path.isReserved ? name : 2 * name
    return switch change {
    case .set(let fields, _), .patch(let fields, _, _), .place(let fields, _, _):
      names + fields.recordBytesMax
    // A deletion is smaller in the commit than in the request, so the request's size counts.
    case .delete, .verify: max(names, name * 3 / 2)
    }
  }
}

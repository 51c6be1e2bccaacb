// The size limits of a client's commits, and the division of larger steps into several commits.

internal import DocumentStore

/// Sizes in bytes of encoded writes. Tests use smaller ones.
package struct CommitSizes: Sendable {
  /// The largest step that is one commit. A WAL frame holds more, because the shapes of documents add to it.
  package var wholeMax: Int
  /// The maximum size of each commit of a divided step, and of each part of a large batch.
  package var part: Int

  package init(wholeMax: Int = 14 << 20, part: Int = 4 << 20) {
    self.wholeMax = wholeMax
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
  /// The maximum size of these writes in a commit.
  var commitBytes: Int { reduce(0) { $0 + $1.commitBytes } }
}

extension Mutation {
  /// The framing of a key with its value and names, plus a record header.
  private static let frameBytes = 40

  /// The maximum size of this write in a commit.
  var commitBytes: Int {
    let name = path.segments.reduce(Self.frameBytes) { $0 + $1.utf8.count + 3 }
    // The change feed repeats the names of users' documents.
    let names = path.isReserved ? name : 2 * name
    return switch change {
    case .set(let fields, _), .patch(let fields, _, _), .place(let fields, _, _):
      names + fields.recordBytesMax
    // A deletion is smaller in the commit than in the request, so the request's size counts.
    case .delete, .verify: max(names, name * 3 / 2)
    }
  }
}

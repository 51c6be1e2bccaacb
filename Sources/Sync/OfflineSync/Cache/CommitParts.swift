// How much one commit of a client may have, and more than that, cut into several.

internal import DocumentStore

/// In bytes of what is written. Tests have smaller ones.
package struct CommitSizes: Sendable {
  /// What takes no more is one commit. A frame of the log has room for more: the shapes of documents come on top.
  package var wholeMax: Int
  /// Of each commit of what takes more, and of each value that a batch is kept in.
  package var part: Int

  package init(wholeMax: Int = 14 << 20, part: Int = 4 << 20) {
    self.wholeMax = wholeMax
    self.part = part
  }
}

/// Writes in their order, put into commits.
struct CommitParts {
  private let bytesMax: Int
  private var bytes = 0
  private(set) var commits: [[Mutation]] = []

  init(of bytesMax: Int) { self.bytesMax = bytesMax }

  /// All of them into one commit, which has no others if they are too much by themselves.
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
  /// What they take in a commit at most.
  var commitBytes: Int { reduce(0) { $0 + $1.commitBytes } }
}

extension Mutation {
  /// What frames a key, its value and its names, and the head of a record.
  private static let frameBytes = 40

  /// What it takes in a commit at most.
  var commitBytes: Int {
    let name = path.segments.reduce(Self.frameBytes) { $0 + $1.utf8.count + 3 }
    // The change feed names the documents of users, too.
    let names = path.isReserved ? name : 2 * name
    return switch change {
    case .set(let fields, _), .patch(let fields, _, _), .place(let fields, _, _):
      names + fields.recordBytesMax
    // Removals are part of the request, which may have less than a commit.
    case .delete, .verify: max(names, name * 3 / 2)
    }
  }
}

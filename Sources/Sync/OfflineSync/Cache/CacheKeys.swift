// Where a client's store keeps what is no document of a user.
//
// At its own path a document stands as the user sees it: with what is pending. So queries over what is local use the
// indexes that queries use anyway. Beside it, under names that no user can write:
//
//   __remote__/<path>               a document as the remote has it, unless it is the one at its own path
//     s: state (0 found, 1 absent, 2 unknown, 3 invalid), v: version, c: createTime, m: committed,
//     g: there if it is assumed (SyncedDocument), f: the fields, if writes are pending
//   __queue__/<user>:<id>           a batch that was not answered: b: bytes (BatchCodec), or n: how many parts have them
//   __queue__/<user>:<id>/__parts__/<n>  b: some of the bytes of a batch, and nothing without it
//   __bases__/<user>:<path>         what the writes that wait were made on, if the remote has something else by now and
//                                   somebody merges: as in __remote__
//   __targets__/<id>                q: text, s: sequence, v: version, l: limboFreeVersion, r: resumeToken, t: readTime
//   __targets__/<id>/__keys__/<path>  a document of the target
//   __orphans__/<path>              s: when the last target let go of it
//   __sync__/globals                c: client, b: last batch, t: last target, s: sequence, v: last version, u: user
//   __sync__/upload                 there while documents from before the remote go into the queue
//   __sync__/unfinished             there while a step is written that is too much for one commit: t: the targets that
//                                   it changes, b: the batches that it writes in parts
//   __sync__/tokens                 a stream token for each user
//
//   <path> and <user> are escaped (EscapedName.swift); a user begins with "=", and no user is "-"

internal import DocumentStore

enum CacheKeys {
  static let globals = DocumentPath(unchecked: ["__sync__", "globals"])
  static let tokens = DocumentPath(unchecked: ["__sync__", "tokens"])
  /// Documents of the store's own are on their way into the queue.
  static let upload = DocumentPath(unchecked: ["__sync__", "upload"])
  /// Only a part of a step is there.
  static let unfinished = DocumentPath(unchecked: ["__sync__", "unfinished"])
  static let queue = CollectionPath(unchecked: ["__queue__"])
  static let remotes = CollectionPath(unchecked: ["__remote__"])
  static let targets = CollectionPath(unchecked: ["__targets__"])
  static let orphans = CollectionPath(unchecked: ["__orphans__"])

  static func remote(_ path: DocumentPath) -> DocumentPath {
    DocumentPath(unchecked: ["__remote__", escaped(path)])
  }

  static func orphan(_ path: DocumentPath) -> DocumentPath {
    DocumentPath(unchecked: ["__orphans__", escaped(path)])
  }

  static func batch(_ id: BatchID, of user: String?) -> DocumentPath {
    batch("\(queueName(user)):\(id)")
  }

  static func batch(_ name: String) -> DocumentPath { DocumentPath(unchecked: ["__queue__", name]) }

  static func parts(of batch: DocumentPath) -> CollectionPath {
    CollectionPath(unchecked: batch.segments + ["__parts__"])
  }

  static func part(_ number: Int, of batch: DocumentPath) -> DocumentPath {
    DocumentPath(unchecked: batch.segments + ["__parts__", "\(number)"])
  }

  static let bases = CollectionPath(unchecked: ["__bases__"])

  static func base(_ path: DocumentPath, of user: String?) -> DocumentPath {
    DocumentPath(unchecked: ["__bases__", "\(queueName(user)):\(escaped(path))"])
  }

  static func target(_ id: TargetID) -> DocumentPath {
    DocumentPath(unchecked: ["__targets__", "\(id)"])
  }

  static func keys(of id: TargetID) -> CollectionPath {
    CollectionPath(unchecked: ["__targets__", "\(id)", "__keys__"])
  }

  static func key(_ path: DocumentPath, of id: TargetID) -> DocumentPath {
    DocumentPath(unchecked: ["__targets__", "\(id)", "__keys__", escaped(path)])
  }

  // MARK: Names

  static func queueName(_ user: String?) -> String { user.map { "=" + EscapedName.encode($0) } ?? "-" }

  /// Nil for what is no name of a queue.
  static func user(queueName: String) -> String?? {
    if queueName == "-" { return .some(nil) }
    return queueName.hasPrefix("=") ? EscapedName.decode(String(queueName.dropFirst())) : nil
  }

  static func escaped(_ path: DocumentPath) -> String { EscapedName.encode(path.description) }

  static func path(_ escaped: String) -> DocumentPath {
    let path = EscapedName.decode(escaped)
    return DocumentPath(
      unchecked: path.split(separator: "/", omittingEmptySubsequences: false).map(String.init))
  }
}

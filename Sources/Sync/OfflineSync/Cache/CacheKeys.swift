// The keys under which a client's store keeps everything that is not a user's document.
//
// A document's own path holds the user's view: the remote's version with the pending writes applied. Local
// queries can therefore use the ordinary indexes. Everything else is stored under names that users cannot
// write:
//
//   - `__remote__/<path>`: the remote's version of a document, unless the document's own path already holds
//     it. s: state (0 found, 1 absent, 2 unknown, 3 invalid), v: version, c: createTime, m: committed, g:
//     present if the content is assumed (SyncedDocument), f: the fields, if writes are pending
//   - `__queue__/<user>:<id>`: a batch without an answer. b: its bytes (BatchCodec), or n: the number of its
//     parts
//     s: true if the batch was created while the write stream was open, and may have been sent at once
//   - `__queue__/<user>:<id>/__parts__/<n>`: b: a part of a batch's bytes. The part is ignored if the batch
//     is missing
//     o, i: the queue that created an imported batch, and the batch's number there
//   - `__exports__/<user>:<run>`: exists if the run has pending batches that were exported
//   - `__answered__/<user>:<run>:<number>`: an exported or imported batch that has left the queue, by the
//     number that its creator gave it. t: the time at which it was issued, a: the time at which it left
//   - `__sync__/imports`: t: batches that were issued up to this time are not imported any more
//   - `__rejections__/<user>:<id>`: a rejected batch that the app has not seen yet (Rejection.swift)
//   - `__bases__/<user>:<path>`: the version on which pending writes are based, if the remote has a newer
//     version and a resolver is set. The fields are those of `__remote__`
//   - `__targets__/<id>`: q: text, s: sequence, v: version, l: limboFreeVersion, r: resumeToken, t: readTime
//   - `__targets__/<id>/__keys__/<path>`: a document of the target
//   - `__orphans__/<path>`: s: the sequence number at which the document was left without a target
//   - `__sync__/globals`: c: client, b: last batch, t: last target, s: sequence, v: last version, u: user
//   - `__sync__/upload`: a marker that exists while documents that are older than the attachment of the
//     remote are added to the queue
//   - `__sync__/unfinished`: a marker that exists while a step that does not fit in one commit is being
//     written. t: the targets that the step changes, b: the batches that the step writes in parts
//   - `__sync__/tokens`: a stream token for each user
//   - `__registrations__/<user>:<run>`: the registrations of a run with pending batches, oldest first.
//     t: their tokens, b: for each of them the last batch that may have been sent under it
//   - `__pins__/<user>:<number>`: a pinned query (StoredPin.swift)
//
// <path> and <user> are escaped (EscapedName.swift). A user's name starts with "=", and "-" means no user.

internal import DocumentStore

enum CacheKeys {
  static let globals = DocumentPath(unchecked: ["__sync__", "globals"])
  static let tokens = DocumentPath(unchecked: ["__sync__", "tokens"])
  /// A marker that exists while documents that are older than the attachment of the remote are moved into the
  /// queue.
  static let upload = DocumentPath(unchecked: ["__sync__", "upload"])
  /// A marker that exists while a step that needs several commits is only partly written.
  static let unfinished = DocumentPath(unchecked: ["__sync__", "unfinished"])
  static let imports = DocumentPath(unchecked: ["__sync__", "imports"])
  static let queue = CollectionPath(unchecked: ["__queue__"])
  static let remotes = CollectionPath(unchecked: ["__remote__"])
  static let targets = CollectionPath(unchecked: ["__targets__"])
  static let registrations = CollectionPath(unchecked: ["__registrations__"])
  static let orphans = CollectionPath(unchecked: ["__orphans__"])
  static let exports = CollectionPath(unchecked: ["__exports__"])
  static let answered = CollectionPath(unchecked: ["__answered__"])
  static let rejections = CollectionPath(unchecked: ["__rejections__"])

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

  static func rejection(_ id: BatchID, of user: String?) -> DocumentPath {
    DocumentPath(unchecked: ["__rejections__", "\(queueName(user)):\(id)"])
  }

  static func export(of run: RunID, _ user: String?) -> DocumentPath {
    DocumentPath(unchecked: ["__exports__", "\(queueName(user)):\(run)"])
  }

  static func answered(_ batch: BatchID, _ run: RunID, of user: String?) -> DocumentPath {
    DocumentPath(unchecked: ["__answered__", "\(queueName(user)):\(run):\(batch)"])
  }

  static func registration(_ run: RunID, of user: String?) -> DocumentPath {
    DocumentPath(unchecked: ["__registrations__", "\(queueName(user)):\(run)"])
  }

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

  static let pins = CollectionPath(unchecked: ["__pins__"])

  static func pin(_ number: Int64, of user: String?) -> DocumentPath {
    DocumentPath(unchecked: ["__pins__", "\(queueName(user)):\(number)"])
  }

  // MARK: Names

  static func queueName(_ user: String?) -> String { user.map { "=" + EscapedName.encode($0) } ?? "-" }

  /// Returns nil if the text is not the name of a queue.
  static func user(queueName: String) -> String?? {
    if queueName == "-" { return .some(nil) }
    guard queueName.hasPrefix("=") else { return nil }
    return .some(EscapedName.decode(String(queueName.dropFirst())))
  }

  static func escaped(_ path: DocumentPath) -> String { EscapedName.encode(path.description) }

  static func path(_ escaped: String) -> DocumentPath {
    let path = EscapedName.decode(escaped)
    return DocumentPath(
      unchecked: path.split(separator: "/", omittingEmptySubsequences: false).map(String.init))
  }
}

// Validates all data from outside before it enters a client's store.
//
//   document   path, keys derived from it, times, and all limits of DocumentLimits
//   token      its size in bytes, also of a registration
//   time       between 1970 and the year 9999
//   answer     to a write: times, and each value that the remote has computed
//
// The documents of bundles pass this check, too.

package import DocumentStore

enum RemoteLimits {
  /// The maximum size of a resume token. A token is stored with its target and rewritten at each change of
  /// the target.
  static let tokenBytesMax = 64 << 10
  /// The maximum size of a registration token, which is sent with each batch.
  private static let registrationBytesMax = 4 << 10

  // MARK: Documents

  /// Throws `invalidArgument` unless the document, and all entries that a client stores about it, can be
  /// stored and read.
  static func check(_ path: DocumentPath, _ fields: StoredMap?) throws(DocumentStoreError) {
    let time = SnapshotVersion.none.timestamp
    try DocumentLimits.checkForeign(
      StoredDocument(path: path, createTime: time, updateTime: time, fields: fields ?? StoredMap()))
    // Checks the longest cache key that contains the path (CacheKeys.swift). A path that fits in its own key
    // may be too long for this key, which contains the path in escaped form.
    try DocumentLimits.checkKey(
      of: DocumentPath(
        unchecked: ["__targets__", "\(Int32.min)", "__keys__", EscapedName.encode(path.description)]))
  }

  /// Throws `invalidArgument` unless all documents of the bundle can be stored and read.
  static func check(_ bundle: BundleContents) throws(DocumentStoreError) {
    for document in bundle.documents { try check(document.path, document.fields) }
  }

  // MARK: Tokens and times

  static func refusal(of token: [UInt8]) -> RemoteRefusal? {
    guard token.count > tokenBytesMax else { return nil }
    return RemoteRefusal(.resumeToken, "It has \(token.count) bytes, and the limit is \(tokenBytesMax).")
  }

  /// A token that is not valid counts as none.
  static func isValid(registration token: [UInt8]) -> Bool { token.count <= registrationBytesMax }

  static func refusal(of count: Int) -> RemoteRefusal? {
    guard count < 0 else { return nil }
    return RemoteRefusal(.existenceFilter, "It counts \(count) documents.")
  }

  static func refusal(ofSnapshotAt version: SnapshotVersion) -> RemoteRefusal? {
    guard version != .none, !version.isValidTime else { return nil }
    return RemoteRefusal(.snapshotTime, "\(version.microseconds) microseconds since 1970 are not a time.")
  }

  // MARK: Answers to writes

  /// The parts of an answer that can be stored, and the refusals of all other parts.
  struct Answer {
    /// The commit time, or `none` if the remote gave no valid time. With `none`, the document gets the
    /// version just after the one that the client knows.
    var version: SnapshotVersion
    var results: [WriteResult]
    var token: [UInt8]
    var refusals: [RemoteRefusal] = []
  }

  static func admitted(
    _ version: SnapshotVersion, _ results: [WriteResult], token: [UInt8], of mutations: [Mutation]
  ) -> Answer {
    let isTokenValid = refusal(of: token) == nil
    var answer = Answer(
      version: version.isValidTime ? version : .none, results: [], token: isTokenValid ? token : [])
    for (result, mutation) in zip(results, mutations) {
      do throws(RemoteRefusal) {
        try check(result, of: mutation)
        answer.results.append(result)
      } catch {
        answer.results.append(
          WriteResult(
            version: result.version.isValidTime ? result.version : .none, versionBefore: .unknownBase))
        answer.refusals.append(error)
      }
    }
    if !version.isValidTime, let path = mutations.first?.path {
      answer.refusals.append(refusal(of: path, "A write of it was answered with no time."))
    }
    return answer
  }

  private static func check(_ result: WriteResult, of mutation: Mutation) throws(RemoteRefusal) {
    let path = mutation.path
    guard result.version == .none || result.version.isValidTime,
      result.versionBefore.map({ $0 == .none || $0.isValidTime }) ?? true
    else { throw refusal(of: path, "The answer to a write of it has an invalid time.") }
    for (transform, value) in zip(mutation.transforms, result.transformResults) {
      do throws(DocumentStoreError) {
        try DocumentLimits.checkForeign(value, at: transform.field, in: path)
      } catch {
        throw refusal(of: path, error.description)
      }
    }
  }

  static func refusal(of path: DocumentPath, _ reason: String) -> RemoteRefusal {
    RemoteRefusal(.document(path), reason)
  }
}

extension RemoteDocument {
  /// Returns the document in a form that can be stored. Throws unless it has the path `path`, could be read,
  /// and is within the limits.
  package func admitted(at path: DocumentPath) throws(RemoteRefusal) -> RemoteDocument {
    guard self.path == path else {
      throw RemoteLimits.refusal(of: path, "Another document came in its place.")
    }
    if let unreadableReason { throw RemoteLimits.refusal(of: path, unreadableReason) }
    guard version == .none || version.isValidTime,
      StoredTimestamp(microseconds: createTime.microseconds) != nil
    else { throw RemoteLimits.refusal(of: path, "It has an invalid time.") }
    do throws(DocumentStoreError) { try RemoteLimits.check(path, fields) } catch {
      throw RemoteLimits.refusal(of: path, error.description)
    }
    var admitted = self
    // Version `none` means a pending write or unknown content, so an existing document cannot have it.
    if fields != nil { admitted.version = max(version, .first) }
    return admitted
  }
}

extension SnapshotVersion {
  /// A time that no document has. As a `versionBefore` it means that the version before the write is unknown.
  static let unknownBase = SnapshotVersion(microseconds: -1)

  /// Whether a document can have this time: after 1970 and up to the year 9999.
  var isValidTime: Bool { self > .none && StoredTimestamp(microseconds: microseconds) != nil }

  /// The next microsecond.
  var next: SnapshotVersion {
    let next = SnapshotVersion(microseconds: microseconds &+ 1)
    return next.isValidTime ? next : self
  }
}

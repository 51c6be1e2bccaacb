// What a server of objects has to do for a bucket to be synced with it.
//
// An upload is a session with an id that the client chose: pieces are appended in order, and `finish` makes the object
// in one step. Whoever lost the connection asks how far the session has come, and goes on from there; finishing a
// session twice has no second effect.

public import DocumentStore
import OfflineSync

/// An object as a server knows it.
public struct RemoteObject: Hashable, Sendable {
  /// The name of its bucket.
  public var bucket: String
  /// Its name there.
  public var name: String
  /// How many bytes it has.
  public var byteCount: UInt64
  /// What kind of bytes they are.
  public var contentType: String?
  /// For how long it may be cached.
  public var cacheControl: String?
  /// How a browser would offer it.
  public var contentDisposition: String?
  /// How the bytes are encoded.
  public var contentEncoding: String?
  /// Which language it is in.
  public var contentLanguage: String?
  /// Values of yours.
  public var customMetadata: [String: String]
  /// The 16 bytes of it; none if nobody has computed it.
  public var md5: [UInt8] = []
  /// Who has one may read the object.
  public var downloadTokens: [String] = []
  /// Given by the server; grows with every content of a name.
  public var generation: Int64
  /// Counts the changes of what is said about this content, from 1; 0 from a server that does not count them.
  public var metageneration: Int64 = 0
  /// When this content came; nil if the server does not tell.
  public var created: StoredTimestamp?
  /// When it, or what is said about it, was changed last; nil if the server does not tell.
  public var updated: StoredTimestamp?

  /// An object as a remote has it.
  public init(
    bucket: String, name: String, byteCount: UInt64, contentType: String? = nil,
    customMetadata: [String: String] = [:], generation: Int64 = 0
  ) {
    self.bucket = bucket
    self.name = name
    self.byteCount = byteCount
    self.contentType = contentType
    self.customMetadata = customMetadata
    self.generation = generation
  }
}

/// A part of a folder of a bucket, as a server has it.
///
/// An entry is the whole name of an object, or the whole name of a folder with a slash behind it, and a folder stands for
/// all that is in it. Entries have the order of the bytes of their names.
public struct RemoteListing: Hashable, Sendable {
  /// Names of objects, and of folders with their slash.
  public var entries: [String]
  /// Nothing comes behind these.
  public var isLast: Bool

  /// A part with these entries.
  public init(_ entries: [String], isLast: Bool) {
    self.entries = entries
    self.isLast = isLast
  }
}

/// Why a remote of contents did not do it.
public enum BlobRemoteError: Error, Hashable, Sendable {
  /// The server cannot be reached, or is busy: the same call may succeed later.
  case unavailable(String)
  /// There is no such object, or no such session: begin again.
  case notFound
  /// What was appended does not go on where the session ends, which is here.
  case wrongOffset(UInt64)
  /// The server does not want it, and never will.
  case rejected(String)
  /// The server does not know who asks. A remote that can sign in anew does so first.
  case unauthenticated(String)
  /// Who asks may not do it.
  case unauthorized(String)
  /// The server has no room for it.
  case quotaExceeded(String)

  /// Whether it is worth trying again. What is not is taken back.
  public var isTransient: Bool {
    switch self {
    case .unavailable, .notFound, .wrongOffset: true
    case .rejected, .unauthenticated, .unauthorized, .quotaExceeded: false
    }
  }
}

/// A server of objects. Called from one thread at a time for each app; calls may block, and what has not been answered
/// in a time of its choice is `unavailable`: a call that never returns holds up all others, and closing, too.
public protocol BlobRemote: Sendable {
  /// How many bytes a session has; 0 for one that is new.
  func offset(ofUpload id: String) throws(BlobRemoteError) -> UInt64
  /// Adds bytes to a session that has `offset` bytes.
  func append(_ bytes: [UInt8], at offset: UInt64, toUpload id: String) throws(BlobRemoteError)
  /// Makes the object of all bytes of the session, with the generation that the server gives it.
  func finish(upload id: String, as object: RemoteObject) throws(BlobRemoteError) -> RemoteObject
  /// Forgets a session. Fine if there is none.
  func abandon(upload id: String) throws(BlobRemoteError)
  /// The object, as of now.
  func object(bucket: String, name: String) throws(BlobRemoteError) -> RemoteObject
  /// Up to `count` entries directly below a prefix, which is empty or ends with a slash, behind the entry `last` of a part
  /// before. A part that is not the last has at least one.
  func list(
    bucket: String, below prefix: String, after last: String?, count: Int
  ) throws(BlobRemoteError) -> RemoteListing
  /// At most `count` bytes of a generation from `offset` on; none at the end.
  func read(_ object: RemoteObject, from offset: UInt64, count: Int) throws(BlobRemoteError) -> [UInt8]
  /// Gives the object, whatever its generation is, the types and the metadata of this one; its content stays.
  func update(_ object: RemoteObject) throws(BlobRemoteError) -> RemoteObject
  /// Removes the object.
  func delete(bucket: String, name: String) throws(BlobRemoteError)
}

// The protocol that an object server implements so that a bucket can be synced with it.
//
// An upload is a session whose id the client chooses. The client appends pieces in order, and `finish`
// creates the object atomically. After a lost connection the client asks for the session's offset and
// resumes there. Finishing a session twice has no second effect.

public import DocumentStore
import OfflineSync

/// An object as the server describes it.
public struct RemoteObject: Hashable, Sendable {
  /// The name of the object's bucket.
  public var bucket: String
  /// The object's name within the bucket.
  public var name: String
  /// The size of the content in bytes.
  public var byteCount: UInt64
  /// The MIME type of the content.
  public var contentType: String?
  /// The value of the `Cache-Control` header.
  public var cacheControl: String?
  /// The value of the `Content-Disposition` header.
  public var contentDisposition: String?
  /// The value of the `Content-Encoding` header.
  public var contentEncoding: String?
  /// The value of the `Content-Language` header.
  public var contentLanguage: String?
  /// Custom key-value pairs of the application.
  public var customMetadata: [String: String]
  /// The 16 bytes of the MD5 checksum; empty if it has not been computed.
  public var md5: [UInt8] = []
  /// Each of these tokens grants read access to the object.
  public var downloadTokens: [String] = []
  /// A number that the server assigns; it increases with each new content of a name.
  public var generation: Int64
  /// Counts the metadata changes of this generation, from 1; 0 if the server does not count them.
  public var metageneration: Int64 = 0
  /// The time when this generation was created; nil if the server does not report it.
  public var created: StoredTimestamp?
  /// The time of the last change to the content or the metadata; nil if the server does not report it.
  public var updated: StoredTimestamp?

  /// Creates the description of an object.
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

/// One page of a folder listing, as the server returns it.
///
/// An entry is the full name of an object, or the full name of a folder followed by a slash. A folder
/// entry represents all objects below it. Entries are ordered by the bytes of their names.
public struct RemoteListing: Hashable, Sendable {
  /// The names of objects, and the names of folders with their slash.
  public var entries: [String]
  /// Whether the listing ends with this page.
  public var isLast: Bool

  /// Creates a page with these entries.
  public init(_ entries: [String], isLast: Bool) {
    self.entries = entries
    self.isLast = isLast
  }
}

/// The reason why an object server did not execute a call.
public enum BlobRemoteError: Error, Hashable, Sendable {
  /// The server cannot be reached or is busy. The same call may succeed later.
  case unavailable(String)
  /// The object or the upload session does not exist. The client starts over.
  case notFound
  ///  The appended bytes do not start at the end of the session. The value is the offset of that end.
  case wrongOffset(UInt64)
  /// The server rejects the request permanently.
  case rejected(String)
  /// The server does not know the caller. A remote that can sign in again does so before it throws this.
  case unauthenticated(String)
  /// The caller lacks the permission.
  case unauthorized(String)
  /// The server's storage quota is exhausted.
  case quotaExceeded(String)

  /// Whether a retry may succeed. The client reverts a change that fails with any other error.
  public var isTransient: Bool {
    switch self {
    case .unavailable, .notFound, .wrongOffset: true
    case .rejected, .unauthenticated, .unauthorized, .quotaExceeded: false
    }
  }
}

/// A server of objects. Each app calls it from one thread at a time, and calls may block. An
/// implementation sets its own timeout and then throws `unavailable`: a call that never returns blocks
/// all other calls and `close`.
public protocol BlobRemote: Sendable {
  /// Returns the number of bytes in a session; 0 for a new one.
  func offset(ofUpload id: String) throws(BlobRemoteError) -> UInt64
  /// Appends bytes to a session, which has `offset` bytes before the call.
  func append(_ bytes: [UInt8], at offset: UInt64, toUpload id: String) throws(BlobRemoteError)
  /// Creates the object from all bytes of the session, and returns it with the generation that the server
  /// assigned.
  func finish(upload id: String, as object: RemoteObject) throws(BlobRemoteError) -> RemoteObject
  /// Discards a session. Succeeds if the session does not exist.
  func abandon(upload id: String) throws(BlobRemoteError)
  /// Returns the current description of the object.
  func object(bucket: String, name: String) throws(BlobRemoteError) -> RemoteObject
  /// Returns up to `count` entries that are directly below a prefix and follow the entry `last`. The prefix
  /// is empty or ends with a slash. A page that is not the last one has at least one entry.
  func list(
    bucket: String, below prefix: String, after last: String?, count: Int
  ) throws(BlobRemoteError) -> RemoteListing
  /// Returns at most `count` bytes of a generation, starting at `offset`; empty at the end of the content.
  func read(_ object: RemoteObject, from offset: UInt64, count: Int) throws(BlobRemoteError) -> [UInt8]
  /// Replaces the attributes and custom metadata of the object, regardless of the object's generation. The
  /// content stays as it is.
  func update(_ object: RemoteObject) throws(BlobRemoteError) -> RemoteObject
  /// Deletes the object.
  func delete(bucket: String, name: String) throws(BlobRemoteError)
}

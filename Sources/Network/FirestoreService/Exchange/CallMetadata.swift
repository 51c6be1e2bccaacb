// The caller of a call, as its transport knows it, and the metadata that the service reads.

/// The caller of a call, as its transport has established it, and the metadata of its request.
public struct CallMetadata: Sendable {
  /// The user on whose behalf the call is made; nil if no user has signed in. The access rules decide what
  /// the user may do. The transport has verified the user.
  public var user: String?
  /// The connection of the call. Limits on open transactions and on waiting commits apply to each connection.
  /// Nil if many callers may share it, as behind a proxy. The limits then apply to each user, and callers
  /// without a user only have those of the database.
  public var connection: UInt64?
  /// The metadata or header field `dugout-write-id` of the request; nil if there is none. A client of Dugout
  /// identifies a commit with it, so that a commit which arrives twice is applied once. The service checks
  /// the text, and ignores it for other methods than `Commit`.
  public var writeIdentity: String?

  /// Creates metadata for a call.
  public init(user: String? = nil, connection: UInt64? = nil, writeIdentity: String? = nil) {
    self.user = user
    self.connection = connection
    self.writeIdentity = writeIdentity
  }
}

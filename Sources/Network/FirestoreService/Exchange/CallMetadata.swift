// The caller of a call, as its transport knows it.

/// The caller of a call, as its transport has established it.
public struct CallMetadata: Sendable {
  /// The user on whose behalf the call is made; nil if no user has signed in. The access rules decide what
  /// the user may do. The transport has verified the user.
  public var user: String?
  /// The connection of the call. Limits on open transactions and on waiting commits apply to each connection.
  /// Nil if many callers may share it, as behind a proxy. The limits then apply to each user, and callers
  /// without a user only have those of the database.
  public var connection: UInt64?

  /// Creates metadata for a call.
  public init(user: String? = nil, connection: UInt64? = nil) {
    self.user = user
    self.connection = connection
  }
}

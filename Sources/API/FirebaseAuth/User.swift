// A user who is or was signed in, and the result of a sign-in.

public import Foundation

/// A user of an app. Objects do not change: a user who signs in again with another name is a new object.
public final class User: NSObject, Sendable {
  let identity: AuthIdentity

  init(_ identity: AuthIdentity) { self.identity = identity }

  /// The ID of the user, which is unique within the app.
  public var uid: String { identity.uid }

  /// Whether the user signed in without an account.
  public var isAnonymous: Bool { identity.isAnonymous }

  /// The source of the user. It is `Firebase` unless the app has given another one.
  public var providerID: String { identity.providerID }

  /// The name of the user, for display.
  public var displayName: String? { identity.displayName }

  /// The e-mail address of the user.
  public var email: String? { identity.email }

  /// The address of a picture of the user.
  public var photoURL: URL? { identity.photoURL }
}

/// The result of a sign-in.
public final class AuthDataResult: NSObject, Sendable {
  /// The user who is signed in now.
  public let user: User

  init(_ user: User) { self.user = user }
}

// The identities of users, which come from the app.

public import Foundation

/// The facts about a user that an app knows after it has authenticated the user.
///
/// ```swift
/// let ada = AuthIdentity(uid: "ada", displayName: "Ada Lovelace")
/// try Auth.auth().signIn(as: ada)
/// ```
public struct AuthIdentity: Hashable, Sendable {
  /// The ID of the user: 1 to 255 bytes in UTF-8. Pending writes belong to the user with this ID.
  public var uid: String
  /// Whether the user has no account.
  public var isAnonymous: Bool
  /// The source of the user.
  public var providerID: String
  /// The name of the user, for display.
  public var displayName: String?
  /// The e-mail address of the user.
  public var email: String?
  /// The address of a picture of the user.
  public var photoURL: URL?

  /// Creates an identity. Its ID is checked when the user signs in.
  public init(
    uid: String, isAnonymous: Bool = false, providerID: String = "Firebase", displayName: String? = nil,
    email: String? = nil, photoURL: URL? = nil
  ) {
    self.uid = uid
    self.isAnonymous = isAnonymous
    self.providerID = providerID
    self.displayName = displayName
    self.email = email
    self.photoURL = photoURL
  }
}

/// The accounts of an app. An app that has accounts sets an object of this type as `Auth.provider`.
///
/// The methods may be called on any thread, and never under a lock. They may throw any error, for example an
/// ``AuthErrorCode``. The caller of the sign-in or the sign-out receives this error unchanged.
public protocol AuthIdentityProvider: Sendable {
  /// Returns the identity of a user without an account. `Auth.signInAnonymously` calls this.
  func anonymousIdentity() async throws -> AuthIdentity

  /// Ends the session of a user. `Auth.signOut` calls this while the user is still signed in, and the user
  /// stays signed in if it throws. The default does nothing.
  func endSession(of identity: AuthIdentity) throws
}

extension AuthIdentityProvider {
  /// Does nothing.
  public func endSession(of identity: AuthIdentity) throws {}
}

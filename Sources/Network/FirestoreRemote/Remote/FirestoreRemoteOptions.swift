// The options of a remote.

/// The address of a Firestore, and the credentials of its client.
public struct FirestoreRemoteOptions: Sendable {
  /// The host of Cloud Firestore.
  public static let cloudHost = "firestore.googleapis.com"

  /// The id of the project.
  public var project: String
  /// The id of the database.
  public var database = "(default)"
  /// The host, with a port if it is not the usual one: "firestore.googleapis.com" or "127.0.0.1:8080".
  /// An address of IPv6 is in brackets: "[::1]:8080".
  public var host = cloudHost
  /// Whether connections are encrypted.
  public var isSSLEnabled = true
  /// The key of the app's project. Cloud Firestore counts requests by it.
  public var apiKey: String?
  /// The id of the app, as Firebase's console shows it.
  public var appID: String?
  /// The time limit for a call outside the streams, in seconds.
  public var callTimeLimit: Double = 15
  /// Returns the tokens of users. Without it, requests have no token.
  public var credentials: FirestoreTokenSource?
  /// Returns the token of App Check. Without it, requests have none.
  public var appCheck: FirestoreTokenSource?

  /// Creates options for a database of Cloud Firestore.
  public init(project: String) { self.project = project }
}

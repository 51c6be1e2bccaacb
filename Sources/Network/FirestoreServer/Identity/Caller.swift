// The caller of a request.

/// The caller of a request.
enum Caller: Sendable, Equatable {
  /// May do everything.
  case admin
  /// A user who has signed in.
  case user(String)
  /// Has no credentials.
  case anonymous

  /// The user for the access rules of the database.
  var user: String? { if case .user(let id) = self { id } else { nil } }
}

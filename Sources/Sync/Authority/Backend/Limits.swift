// The errors of limits, which callers can tell apart from other errors.

package import OfflineSync

extension RemoteError {
  /// Too many commits wait, of one client or of all.
  package static let overloaded = RemoteError(
    .resourceExhausted, "The database is overloaded. Try again later.")

  /// Too many calls about the same run wait.
  package static let tooManyTurns = RemoteError(
    .resourceExhausted, "Too many writes of the same client wait.")
}

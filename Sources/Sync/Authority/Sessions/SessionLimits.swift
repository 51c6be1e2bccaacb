// The errors of the limits of a watch stream, which callers can tell apart from other errors.

package import OfflineSync

extension RemoteError {
  /// A watch stream has too many targets.
  package static let tooManyTargets = RemoteError(
    .resourceExhausted, "A stream has at most \(WatchSession.targetsMax) targets.")

  /// A watch stream has too many answers that wait.
  package static let tooManyAnswers = RemoteError(
    .resourceExhausted, "The stream has too many requests whose answers wait.")
}

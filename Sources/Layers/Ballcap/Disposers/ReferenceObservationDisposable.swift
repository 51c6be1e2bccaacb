// What can be ended.

/// An observation that can be ended; ending it again does nothing.
public protocol ReferenceObservationDisposable {
  /// Stops what is observed. A second call does nothing.
  func dispose()
}

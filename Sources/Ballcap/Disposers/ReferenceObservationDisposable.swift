// What can be ended.

/// An observation that can be ended; ending it again does nothing.
public protocol ReferenceObservationDisposable {
  func dispose()
}

// Any disposable, tied to another lifetime.

/// Disposes its base when asked, or when it is freed, also if someone else has the base.
public final class AnyDisposer: ReferenceObservationDisposable {
  /// What is disposed of.
  public let base: any ReferenceObservationDisposable

  /// Wraps another disposer.
  public init(_ base: any ReferenceObservationDisposable = NoDisposer()) { self.base = base }

  deinit { base.dispose() }

  public func dispose() { base.dispose() }
}

/// Nothing to end.
public final class NoDisposer: ReferenceObservationDisposable {
  /// Makes one that disposes of nothing.
  public init() {}

  public func dispose() {}
}

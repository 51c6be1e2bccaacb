// The operations that all transfers support.

public import Foundation

/// Starts, pauses, cancels and resumes a transfer. `pause`, `cancel` and `resume` are optional requirements
/// in Firebase's SDK, so existing code writes `task.pause?()`. The classes implement them as methods.
public protocol StorageTaskManagement: NSObjectProtocol {
  /// Does nothing, because a transfer is already started by the call that creates it.
  func enqueue()
  /// Pauses the transfer until it is resumed.
  var pause: (() -> Void)? { get }
  /// Cancels the transfer.
  var cancel: (() -> Void)? { get }
  /// Resumes the transfer.
  var resume: (() -> Void)? { get }
}

extension StorageTaskManagement where Self: StorageObservableTask {
  public var pause: (() -> Void)? { { [weak self] in self?.transfer.handle(.pause) } }
  public var cancel: (() -> Void)? { { [weak self] in self?.transfer.handle(.cancel) } }
  public var resume: (() -> Void)? { { [weak self] in self?.transfer.handle(.resume) } }
}

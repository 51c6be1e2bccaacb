// What can be done to a transfer, for code that has any transfer.

public import Foundation

/// `pause`, `cancel` and `resume` are optional in the original: existing code writes `task.pause?()`. The classes have
/// them as methods.
public protocol StorageTaskManagement: NSObjectProtocol {
  /// Begins. A transfer is begun by the call that makes it, so that this does nothing.
  func enqueue()
  /// Stops until it is resumed.
  var pause: (() -> Void)? { get }
  /// Gives it up.
  var cancel: (() -> Void)? { get }
  /// Goes on.
  var resume: (() -> Void)? { get }
}

extension StorageTaskManagement where Self: StorageObservableTask {
  public var pause: (() -> Void)? { { [weak self] in self?.transfer.handle(.pause) } }
  public var cancel: (() -> Void)? { { [weak self] in self?.transfer.handle(.cancel) } }
  public var resume: (() -> Void)? { { [weak self] in self?.transfer.handle(.resume) } }
}

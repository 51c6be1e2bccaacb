// One stored record as an object.

import LayerKit

/// What has a key.
public protocol KeyedObject: AnyObject {
  /// What names it; nil before it is created.
  var key: String? { get }
}

/// A record: its key is the last component of its path, `dict` is what is stored.
public protocol BaseItemProtocol: KeyedObject {
  /// Nil until it is created.
  var key: String? { get set }
  /// What is stored.
  var dict: [String: Any] { get }
  /// An item with this key and nothing else.
  init(key: String?)
  /// The record has these fields now; nil if it was deleted.
  func update(_ dict: [String: Any]?)
  /// An item of its own with what is stored of this one.
  func clone() -> any BaseItemProtocol
}

/// The base of an app's own records.
///
/// ```swift
/// class Note: BaseItem {
///   var body: String?
///
///   override func update(_ dict: [String: Any]?) {
///     super.update(dict)
///     body = dict?["body"] as? String
///   }
///
///   override var dict: [String: Any] {
///     var dict = super.dict
///     dict["body"] = body
///     return dict
///   }
/// }
/// ```
open class BaseItem: Equatable, BaseItemProtocol {
  public var key: String?
  /// By their fields; as of the state that a stream gave it last.
  var kitPendingTimes: [String: PendingTime] = [:]

  open var dict: [String: Any] { [:] }

  /// An item without a key.
  public convenience init() { self.init(key: nil) }

  public required init(key: String?) { self.key = key }

  open func update(_ dict: [String: Any]?) {}

  /// Another instance of the same class, with the same key and what is in `dict`. Objects in there are
  /// shared, and what is not in there is lost.
  open func clone() -> any BaseItemProtocol {
    let copy = type(of: self).init(key: key)
    copy.update(dict)
    copy.kitPendingTimes = kitPendingTimes
    return copy
  }

  /// By the keys; without any, by identity.
  public static func == (left: BaseItem, right: BaseItem) -> Bool {
    guard let key = left.key, let other = right.key else {
      return left === right
    }
    return ExactKey(key) == ExactKey(other)
  }
}

/// The same under the name that the documentation of the original uses.
public typealias StreamBaseItem = BaseItem

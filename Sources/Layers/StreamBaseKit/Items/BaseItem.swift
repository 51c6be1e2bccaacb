// A stored record as an object.

import LayerKit

/// An object with a key.
public protocol KeyedObject: AnyObject {
  /// The key; nil before the object is created.
  var key: String? { get }
}

/// A record. Its key is the last component of its path, and `dict` contains its stored fields.
public protocol BaseItemProtocol: KeyedObject {
  /// The key; nil until the record is created.
  var key: String? { get set }
  /// The stored fields.
  var dict: [String: Any] { get }
  /// Creates an item with this key and without fields.
  init(key: String?)
  /// Sets the fields of the record. `dict` is nil if the record was deleted.
  func update(_ dict: [String: Any]?)
  /// Returns a separate item with the same key and stored fields.
  func clone() -> any BaseItemProtocol
}

/// The base class of an app's records.
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
  /// The pending server timestamps by field name, from the last state that a stream has set.
  var kitPendingTimes: [String: PendingTime] = [:]

  open var dict: [String: Any] { [:] }

  /// Creates an item without a key.
  public convenience init() { self.init(key: nil) }

  public required init(key: String?) { self.key = key }

  open func update(_ dict: [String: Any]?) {}

  /// Returns another instance of the same class with the same key and the fields of `dict`. Objects in `dict`
  /// are shared. State that is not in `dict` is not copied.
  open func clone() -> any BaseItemProtocol {
    let copy = type(of: self).init(key: key)
    copy.update(dict)
    copy.kitPendingTimes = kitPendingTimes
    return copy
  }

  /// Compares the keys, or the identities if a key is nil.
  public static func == (left: BaseItem, right: BaseItem) -> Bool {
    guard let key = left.key, let other = right.key else {
      return left === right
    }
    return ExactKey(key) == ExactKey(other)
  }
}

/// An alias that the documentation of the original uses.
public typealias StreamBaseItem = BaseItem

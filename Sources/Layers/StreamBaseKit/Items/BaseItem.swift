// A class whose instances represent stored records.

import LayerKit

/// An object with a key.
public protocol KeyedObject: AnyObject {
  /// The key; nil until the record of the object is created.
  var key: String? { get }
}

/// A record. Its key is the last component of its path. `dict` contains its stored fields.
public protocol BaseItemProtocol: KeyedObject {
  /// The key; nil until the record is created.
  var key: String? { get set }
  /// The stored fields.
  var dict: [String: Any] { get }
  /// Creates an item with this key and without fields.
  init(key: String?)
  /// Sets the properties from stored fields. `dict` is nil if the record was deleted.
  func update(_ dict: [String: Any]?)
  /// Returns a separate item with the same key and the same stored fields.
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
  /// The pending server timestamps by field name. A stream sets them when it decodes a document into the
  /// item.
  var kitPendingTimes: [String: PendingTime] = [:]

  open var dict: [String: Any] { [:] }

  /// Creates an item without a key.
  public convenience init() { self.init(key: nil) }

  public required init(key: String?) { self.key = key }

  open func update(_ dict: [String: Any]?) {}

  /// Returns another instance of the same class with the same key and the fields of `dict`. Objects in `dict`
  /// are shared between both instances. Properties that are not in `dict` are not copied.
  open func clone() -> any BaseItemProtocol {
    let copy = type(of: self).init(key: key)
    copy.update(dict)
    copy.kitPendingTimes = kitPendingTimes
    return copy
  }

  /// Compares the keys of both items. If either key is nil, compares their identities.
  public static func == (left: BaseItem, right: BaseItem) -> Bool {
    guard let key = left.key, let other = right.key else {
      return left === right
    }
    return ExactKey(key) == ExactKey(other)
  }
}

/// An alias of `BaseItem`. The documentation of the original StreamBaseKit uses this name.
public typealias StreamBaseItem = BaseItem

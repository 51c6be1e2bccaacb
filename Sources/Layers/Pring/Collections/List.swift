// Objects inside the document of their parent, stored as a map from ids to fields.

private import FirebaseCore
import FirebaseFirestore
import Foundation

/// A small collection that is part of its parent's document. The members are in the order of their ids.
///
/// ```swift
/// class Cart: Object { let items: List<Item> = [] }
/// ```
///
/// Change members in place. An update of the parent writes only the changed fields.
public final class List<T: Document>: AnyList, Collection, ExpressibleByArrayLiteral {
  public weak var parent: Object?
  public var key: String?
  private var members: [String: T] = [:]
  /// The ids in order; nil after a member was added or removed.
  private var sortedKeys: [String]?

  public init(arrayLiteral elements: T...) {
    for element in elements { members[element.id] = element }
  }

  public func setParent(_ object: Object, forKey key: String) {
    parent = object
    self.key = key
    for (id, member) in members { (member as? Object)?.setParent(object, forKey: "\(key)/\(id)") }
  }

  // MARK: Fields

  /// The fields of each member, by its id.
  public var value: [String: Any] { members.mapValues(\.rawValue) }

  /// The changes of the list that the next update of the parent writes.
  public var updateValue: [String: Any] {
    guard let parent, let key else { return value }
    return parent.updateValue[key] as? [String: Any] ?? [:]
  }

  /// Replaces the members with the members in `value`. A member that is already in the list stays the same
  /// object.
  public func setValue(_ value: [String: Any]) {
    var result: [String: T] = [:]
    for (id, fields) in value {
      guard StoredID.isSound(id), let fields = fields as? [String: Any] else { continue }
      if let known = members[id] as? Object, let member = known as? T {
        known.pringTakeFields(fields)
        known.isSaved = true
        result[id] = member
      } else {
        result[id] = T(id: id, value: fields)
      }
    }
    members = result
    sortedKeys = nil
    if let parent, let key { setParent(parent, forKey: key) }
  }

  // MARK: Members

  /// Adds an object to the list.
  public func append(_ object: T) {
    members[object.id] = object
    sortedKeys = nil
    if let parent, let key { (object as? Object)?.setParent(parent, forKey: "\(key)/\(object.id)") }
  }

  /// Removes the object with the same id.
  public func remove(_ object: T) {
    members[object.id] = nil
    sortedKeys = nil
  }

  /// The ids in order.
  public var keys: [String] {
    if let sortedKeys { return sortedKeys }
    let keys = members.keys.sorted()
    sortedKeys = keys
    return keys
  }

  public var count: Int { members.count }
  public var isEmpty: Bool { members.isEmpty }
  /// The first object; nil if there is none.
  public var first: T? { keys.first.flatMap { members[$0] } }
  public var startIndex: Int { 0 }
  public var endIndex: Int { members.count }
  public func index(after i: Int) -> Int { i + 1 }

  /// The member with this id; traps if there is none.
  public subscript(position: String) -> T {
    guard let member = members[position] else {
      ProgrammerError.trap("The list \(key ?? "") has no member with the id \(position).")
    }
    return member
  }

  public subscript(position: Int) -> T { self[keys[position]] }
}

extension List: StoredContainer, EmbeddedObjects {
  var storedForm: Any? { value }

  func decode(_ stored: Any) {
    if let value = stored as? [String: Any] { setValue(value) }
  }

  var embeddedObjects: [Object] { keys.compactMap { members[$0] as? Object } }
}

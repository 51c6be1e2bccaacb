// Converts the properties of an object to the fields of a document, and back.

import FirebaseFirestore
import Foundation

extension Object {
  /// The properties that are stored, each with its index in the schema.
  var pringActiveProperties: [(index: Int, property: Property)] {
    let ignored = ignore
    var active: [(index: Int, property: Property)] = []
    active.reserveCapacity(pringSchema.properties.count)
    for (index, property) in pringSchema.properties.enumerated()
    where ignored.isEmpty || !ignored.contains(property.name) { active.append((index, property)) }
    return active
  }

  /// The properties, converted to document fields.
  public var rawValue: [String: Any] {
    pringAdoptChildren()
    var fields: [String: Any] = [:]
    for (_, property) in pringActiveProperties { fields[property.name] = pringStored(property) }
    return fields
  }

  /// The properties, converted to document fields, with server timestamps for `createdAt` and `updatedAt`.
  /// Only an object that is not saved gets a server timestamp for `createdAt`.
  public var value: [String: Any] {
    var fields = rawValue
    if !isSaved { fields["createdAt"] = FieldValue.serverTimestamp() }
    fields["updatedAt"] = FieldValue.serverTimestamp()
    return fields
  }

  /// Returns the stored form that the subclass encodes, or else the default form of the property's type.
  func pringStored(_ property: Property) -> Any? { pringEncoded(property) ?? property.stored(of: self) }

  func pringEncoded(_ property: Property) -> Any? {
    encode(property.name, value: property.unwrappedValue(of: self))
  }

  static func pringUnwrapped(_ value: Any) -> Any? {
    guard let optional = value as? any AnyOptional else { return value }
    return optional.content.flatMap(pringUnwrapped)
  }

  /// Sets the properties from document fields. A property keeps its value if its field is absent or has
  /// another type.
  func pringTakeFields(_ fields: [String: Any]) {
    for (_, property) in pringActiveProperties {
      let stored = fields[property.name]
      if decode(property.name, value: stored) { continue }
      if let stored { property.decode(stored, into: self) }
    }
    pringAdoptChildren()
    pringRemember()
  }

  // MARK: Children

  /// Sets the parent of every property value that can have a parent. Code that accesses files or children
  /// must call this method first.
  func pringAdoptChildren() {
    for property in pringSchema.properties where property.role != .value {
      let value = property.value(of: self)
      switch property.role {
      case .value: break
      case .file:
        for file in (value as? any FileForm)?.files ?? [] { file.setParent(self, forKey: property.name) }
      case .nested: (value as? Object)?.setParent(self, forKey: property.name)
      case .list: (value as? any AnyList)?.setParent(self, forKey: property.name)
      case .collection: (value as? any AnySubCollection)?.setParent(self, forKey: property.name)
      case .link: (value as? any HasParent)?.setParent(self, forKey: property.name)
      }
    }
  }

  /// Returns the values of the properties with this role, together with the property names.
  func pringChildren<Child>(_ role: Property.Role, _ type: Child.Type) -> [(name: String, child: Child)] {
    pringActiveProperties.compactMap { _, property in
      guard property.role == role, let child = property.value(of: self) as? Child else { return nil }
      return (property.name, child)
    }
  }
}

extension Document where Self: Object {
  /// The stored properties. The properties of the class come first, then those of its superclasses up to
  /// `Object`, whose own properties are excluded.
  public var allChildrenUpToRootObject: [Mirror.Child] { propertyChildren }
}

extension Object {
  fileprivate var propertyChildren: [Mirror.Child] {
    var children: [Mirror.Child] = []
    var mirror: Mirror? = Mirror(reflecting: self)
    while let current = mirror, current.subjectType != Object.self {
      children += current.children
      mirror = current.superclassMirror
    }
    return children
  }
}

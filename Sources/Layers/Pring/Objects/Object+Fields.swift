// Converts the properties of an object to the fields of a document, and back.

import FirebaseFirestore
import Foundation

extension Object {
  /// The properties that are stored, with their indexes in the schema.
  var pringActiveProperties: [(index: Int, property: Property)] {
    let ignored = ignore
    var active: [(index: Int, property: Property)] = []
    active.reserveCapacity(pringSchema.properties.count)
    for (index, property) in pringSchema.properties.enumerated()
    where ignored.isEmpty || !ignored.contains(property.name) { active.append((index, property)) }
    return active
  }

  /// The properties as fields.
  public var rawValue: [String: Any] {
    pringAdoptChildren()
    var fields: [String: Any] = [:]
    for (_, property) in pringActiveProperties { fields[property.name] = pringStored(property) }
    return fields
  }

  /// The properties as fields, with server timestamps for `createdAt` and `updatedAt`. Only an unsaved object
  /// gets a `createdAt`.
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

  /// Sets the properties from fields. A property keeps its value if the field is absent or of another type.
  func pringTakeFields(_ fields: [String: Any]) {
    for (_, property) in pringActiveProperties {
      let stored = fields[property.name]
      if decode(property.name, value: stored) { continue }
      if let stored { property.decode(stored, into: self) }
    }
    pringAdoptChildren()
    pringRemember()
  }

  // MARK: What belongs to it

  /// Sets the parent of all property values that have one. Code that accesses files or children must call
  /// this first.
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

  /// Returns the values of the properties with this role, with the property names.
  func pringChildren<Child>(_ role: Property.Role, _ type: Child.Type) -> [(name: String, child: Child)] {
    pringActiveProperties.compactMap { _, property in
      guard property.role == role, let child = property.value(of: self) as? Child else { return nil }
      return (property.name, child)
    }
  }
}

extension Document where Self: Object {
  /// The stored properties. Properties of the class come first, then those of its superclasses below
  /// `Object`.
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

// The stored properties of a model class, computed once for each class.

private import ByteStore
import Foundation

/// The stored properties of a class.
final class Schema: Sendable {
  let properties: [Property]
  /// Properties that cannot be stored, each with the reason.
  let hidden: [(name: String, reason: String)]
  private let indices: [String: Int]
  /// Names of properties that a log message has reported as not stored.
  private let loggedNames = Locked<Set<String>>([])

  private init(_ type: Object.Type) {
    let variables = ClassLayout.variables(of: type, below: Object.self)
    properties = variables.compactMap(Self.property)
    hidden = variables.compactMap(Self.hidden)
    indices = Dictionary(
      properties.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
  }

  func index(of name: String) -> Int? { indices[name] }

  /// Returns true on the first call for this name, and false on later calls.
  func isFirstLog(of name: String) -> Bool { loggedNames.withLock { $0.insert(name).inserted } }

  private static let known = Locked<[ObjectIdentifier: Schema]>([:])

  static func of(_ type: Object.Type) -> Schema {
    let key = ObjectIdentifier(type)
    if let schema = known.withLock({ $0[key] }) { return schema }
    let schema = Schema(type)
    known.withLock { $0[key] = schema }
    return schema
  }

  // MARK: Kinds of properties

  private static let lazyPrefix = "$__lazy_storage_$_"

  private static func hidden(_ variable: StoredVariable) -> (name: String, reason: String)? {
    if variable.name.hasPrefix(lazyPrefix) {
      return (String(variable.name.dropFirst(lazyPrefix.count)), "it is lazy")
    }
    return variable.isStrong ? nil : (variable.name, "it is weak or unowned")
  }

  private static func property(_ variable: StoredVariable) -> Property? {
    // The compiler adds variables for lazy properties and macros. These variables are not properties of the
    // model.
    if variable.name.hasPrefix("$") || variable.name.hasPrefix("_$") || !variable.isStrong { return nil }
    guard let field = variable.type as? any AnyField.Type else {
      return property(variable.name, variable, kind: .inline, type: variable.type)
    }
    let name = variable.name.hasPrefix("_") ? String(variable.name.dropFirst()) : variable.name
    return property(name, variable, kind: .boxed, type: field.valueType)
  }

  private enum PlaceKind { case inline, boxed }

  private static func property(
    _ name: String, _ variable: StoredVariable, kind: PlaceKind, type: Any.Type
  ) -> Property {
    func open<Value>(_ type: Value.Type) -> Property {
      property(
        name, Place<Value>(offset: variable.offset, kind: kind == .boxed ? .boxed : .inline),
        isVariable: kind == .boxed || variable.isVariable)
    }
    return _openExistential(type, do: open)
  }

  private static func property<Value>(
    _ name: String, _ place: Place<Value>, isVariable: Bool
  ) -> Property {
    let type = (Value.self as? any AnyOptional.Type)?.wrappedType ?? Value.self
    if let role = role(of: type) { return ContainerProperty(name, place, role: role) }
    if let nested = type as? Object.Type {
      return NestedProperty(name, place, isVariable: isVariable, type: nested)
    }
    if let form = Value.self as? any FieldForm.Type {
      return formProperty(
        name, form, offset: place.offset, isBoxed: place.kind == .boxed, isVariable: isVariable)
    }
    return UntypedProperty(name, place, isVariable: isVariable)
  }

  private static func role(of type: Any.Type) -> Property.Role? {
    if type is any AnySubCollection.Type { return .collection }
    if type is any AnyList.Type { return .list }
    if type is any AnyReference.Type || type is any AnyRelation.Type { return .link }
    return nil
  }

  private static func formProperty<Form: FieldForm>(
    _ name: String, _ type: Form.Type, offset: Int, isBoxed: Bool, isVariable: Bool
  ) -> Property {
    FormProperty<Form>(
      name, Place(offset: offset, kind: isBoxed ? .boxed : .inline), isVariable: isVariable)
  }
}

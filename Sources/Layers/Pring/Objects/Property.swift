// Access to one property of any object of its class. The value can be read and set in its local form (the
// Swift value) and in its stored form (the document field).

import FirebaseFirestore
import Foundation

/// A stored property. Each kind of property type has its own subclass.
class Property: @unchecked Sendable {
  // Unchecked, because the class is not final. The class and its subclasses have only constant stored
  // properties.

  /// How the property's value is saved and tracked.
  enum Role {
    case value
    case file
    case nested
    case list
    case collection
    case link
  }

  let name: String
  let role: Role
  private let isOptional: Bool

  init(_ name: String, _ role: Role, type: Any.Type) {
    self.name = name
    self.role = role
    isOptional = type is any AnyOptional.Type
  }

  /// Whether the declared type does not determine the stored form.
  var isUntyped: Bool { false }

  /// Returns the value without its optional wrappers.
  func unwrappedValue(of object: Object) -> Any? {
    isOptional ? Object.pringUnwrapped(value(of: object)) : value(of: object)
  }

  /// Returns the value in its local form, as the model class declares it.
  func value(of object: Object) -> Any { preconditionFailure("each kind has its own") }

  /// Assigns the value. Returns false if the property is constant or the value has another type.
  func assign(_ value: Any?, to object: Object) -> Bool { preconditionFailure("each kind has its own") }

  /// Returns the stored form; nil if the value has no stored form.
  func stored(of object: Object) -> Any? { preconditionFailure("each kind has its own") }

  /// Sets the value from a stored form. Keeps the present value if the stored form has another type.
  func decode(_ stored: Any, into object: Object) { preconditionFailure("each kind has its own") }

  // MARK: Changes

  /// Returns a note of the value. `hasChanged` later compares the value with the note.
  func note(of object: Object) -> Any { preconditionFailure("each kind has its own") }

  func hasChanged(_ object: Object, since note: Any) -> Bool { preconditionFailure("each kind has its own") }

  /// Whether the property was assigned since the last `clearTouched`. Always false for a property that does
  /// not record assignments.
  func isTouched(_ object: Object) -> Bool { false }

  func clearTouched(_ object: Object) {}

  // MARK: Key paths

  /// Whether `keyPath` reads this property. To find out, the method assigns sample values to the property of
  /// `object`, so no other code may use `object`.
  func isRead(by keyPath: AnyKeyPath, in object: Object) -> Bool { false }

  /// Returns the stored form that the model class encodes for a value of the property's type. The method
  /// assigns the value to the property of `object`, so no other code may use `object`.
  func encodedOperand(_ value: Any, in object: Object) -> Any? { nil }
}

// MARK: Values

/// A property whose type determines its stored form.
final class FormProperty<Value: FieldForm>: Property, @unchecked Sendable {
  // Unchecked for the same reason as the base class.
  private let place: Place<Value>
  private let isVariable: Bool

  init(_ name: String, _ place: Place<Value>, isVariable: Bool) {
    self.place = place
    self.isVariable = isVariable
    super.init(name, Value.self is any FileForm.Type ? .file : .value, type: Value.self)
  }

  override func value(of object: Object) -> Any { place.read(object) }

  override func assign(_ value: Any?, to object: Object) -> Bool {
    guard isVariable else { return false }
    if let value = value as? Value {
      write(value, to: object)
    } else if let value = Value.local(from: value ?? NSNull(), current: place.read(object)) {
      write(value, to: object)
    } else {
      return false
    }
    return true
  }

  private func write(_ value: Value, to object: Object) {
    place.write(value, to: object)
    if place.kind == .boxed { place.box(object).isTouched = true }
  }

  override func stored(of object: Object) -> Any? { place.read(object).storedForm }

  override func decode(_ stored: Any, into object: Object) {
    guard isVariable, let value = Value.local(from: stored, current: place.read(object)) else { return }
    place.write(value, to: object)
  }

  override func note(of object: Object) -> Any {
    let value = place.read(object)
    return Value.changesInPlace ? Note(storedForm: value.storedForm, value: value) : value
  }

  /// The note of a value that can change in place. The note contains the stored form and the value.
  private struct Note: FileNote {
    var storedForm: Any?
    var value: Value

    var files: [any OwnedFile] { (value as? any FileForm)?.files ?? [] }
  }

  override func hasChanged(_ object: Object, since note: Any) -> Bool {
    if let note = note as? Note {
      return !UntypedForm.areSame(place.read(object).storedForm, note.storedForm)
    }
    return (note as? Value).map { !Value.areSame(place.read(object), $0) } ?? true
  }

  override func isTouched(_ object: Object) -> Bool {
    place.kind == .boxed && place.box(object).isTouched
  }

  override func clearTouched(_ object: Object) {
    if place.kind == .boxed { place.box(object).isTouched = false }
  }

  override func isRead(by keyPath: AnyKeyPath, in object: Object) -> Bool {
    guard isVariable, type(of: keyPath).valueType == Value.self, let (first, second) = Value.samples else {
      return false
    }
    return [first, second].allSatisfy { sample in
      place.write(sample, to: object)
      return (object[keyPath: keyPath] as? Value).map { Value.areSame($0, sample) } ?? false
    }
  }
}

/// A property of a type such as `[Any]`, or of a type that only the model class encodes.
final class UntypedProperty<Value>: Property, @unchecked Sendable {
  // Unchecked for the same reason as the base class.
  private let place: Place<Value>
  private let isVariable: Bool

  init(_ name: String, _ place: Place<Value>, isVariable: Bool) {
    self.place = place
    self.isVariable = isVariable
    super.init(name, .value, type: Value.self)
  }

  override var isUntyped: Bool { true }

  override func value(of object: Object) -> Any { place.read(object) }

  override func assign(_ value: Any?, to object: Object) -> Bool {
    guard isVariable, let value = Self.cast(value) else { return false }
    place.write(value, to: object)
    if place.kind == .boxed { place.box(object).isTouched = true }
    return true
  }

  private static func cast(_ value: Any?) -> Value? {
    if value == nil || value is NSNull, let optional = Value.self as? any AnyOptional.Type {
      return optional.absent as? Value
    }
    return value.flatMap { $0 as? Value }
  }

  override func stored(of object: Object) -> Any? {
    let value: Any = place.read(object)
    if let optional = value as? any AnyOptional { return optional.content.flatMap(UntypedForm.stored) }
    return UntypedForm.stored(value)
  }

  override func decode(_ stored: Any, into object: Object) {
    guard isVariable, let value = Self.cast(stored) else { return }
    place.write(value, to: object)
  }

  override func note(of object: Object) -> Any { Note(storedForm: stored(of: object)) }

  private struct Note: StoredNote { var storedForm: Any? }

  override func hasChanged(_ object: Object, since note: Any) -> Bool {
    (note as? Note).map { !UntypedForm.areSame(stored(of: object), $0.storedForm) } ?? true
  }

  override func isTouched(_ object: Object) -> Bool { place.kind == .boxed && place.box(object).isTouched }

  override func clearTouched(_ object: Object) {
    if place.kind == .boxed { place.box(object).isTouched = false }
  }

  override func isRead(by keyPath: AnyKeyPath, in object: Object) -> Bool {
    guard isVariable, type(of: keyPath).valueType == Value.self,
      let (first, second) = EnumSamples.pair(of: Value.self)
    else { return false }
    return [first, second].allSatisfy { sample in
      place.write(sample, to: object)
      return (object[keyPath: keyPath] as? Value).map { EnumSamples.areEqual($0, sample) } ?? false
    }
  }

  override func encodedOperand(_ value: Any, in object: Object) -> Any? {
    guard isVariable, let value = value as? Value else { return nil }
    place.write(value, to: object)
    return object.pringEncoded(self)
  }
}

/// A type-erased optional.
protocol AnyOptional {
  static var absent: Any { get }
  static var wrappedType: Any.Type { get }
  var content: Any? { get }
}

extension Optional: AnyOptional {
  static var absent: Any { Self.none as Any }
  static var wrappedType: Any.Type { Wrapped.self }
  var content: Any? { self }
}

// MARK: Nested objects and containers

/// A property whose value is an object, stored as a map of its properties.
final class NestedProperty<Value>: Property, @unchecked Sendable {
  // Unchecked for the same reason as the base class.
  private let place: Place<Value>
  private let isVariable: Bool
  private let type: Object.Type

  init(_ name: String, _ place: Place<Value>, isVariable: Bool, type: Object.Type) {
    self.place = place
    self.isVariable = isVariable
    self.type = type
    super.init(name, .nested, type: Value.self)
  }

  override func value(of object: Object) -> Any { place.read(object) }

  override func assign(_ value: Any?, to object: Object) -> Bool {
    guard isVariable, let value = value as? Value ?? (value == nil ? Self.absent : nil) else { return false }
    place.write(value, to: object)
    return true
  }

  /// Nil as a value of the property's type. If the type is not optional, there is no such value.
  private static var absent: Value? { (Value.self as? any AnyOptional.Type)?.absent as? Value }

  private func nested(in object: Object) -> Object? { place.read(object) as? Object }

  override func stored(of object: Object) -> Any? { nested(in: object)?.rawValue }

  override func decode(_ stored: Any, into object: Object) {
    if stored is NSNull {
      if isVariable, let absent = Self.absent { place.write(absent, to: object) }
      return
    }
    guard let fields = stored as? [String: Any] else { return }
    let isOptional = Value.self is any AnyOptional.Type
    if let nested = nested(in: object), !isOptional { return nested.pringTakeFields(fields) }
    let nested = type.init()
    guard isVariable, let value = nested as? Value else { return }
    nested.setParent(object, forKey: name)
    nested.pringTakeFields(fields)
    place.write(value, to: object)
  }

  override func note(of object: Object) -> Any {
    let nested = nested(in: object)
    return Note(
      storedForm: stored(of: object), files: nested?.pringSavedFiles ?? [], owners: nested.map { [$0] } ?? [])
  }

  private struct Note: FileNote {
    var storedForm: Any?
    var files: [any OwnedFile]
    /// The objects that own the files. The note keeps them alive, because a file needs its object to
    /// determine its folder.
    var owners: [Object]
  }

  override func hasChanged(_ object: Object, since note: Any) -> Bool {
    (note as? Note).map { !UntypedForm.areSame(stored(of: object), $0.storedForm) } ?? true
  }
}

/// A property whose value is a collection, a list, a reference or a relation. The container object is never
/// replaced; only its content changes.
final class ContainerProperty<Value>: Property, @unchecked Sendable {
  // Unchecked for the same reason as the base class.
  private let place: Place<Value>

  init(_ name: String, _ place: Place<Value>, role: Role) {
    self.place = place
    super.init(name, role, type: Value.self)
  }

  override func value(of object: Object) -> Any { place.read(object) }

  override func assign(_ value: Any?, to object: Object) -> Bool { false }

  override func stored(of object: Object) -> Any? { (place.read(object) as? any StoredContainer)?.storedForm }

  override func decode(_ stored: Any, into object: Object) {
    (place.read(object) as? any StoredContainer)?.decode(stored)
  }

  override func note(of object: Object) -> Any {
    let members = (place.read(object) as? any EmbeddedObjects)?.embeddedObjects ?? []
    return Note(storedForm: stored(of: object), files: members.flatMap(\.pringSavedFiles), owners: members)
  }

  private struct Note: StoredNote, FileNote {
    var storedForm: Any?
    var files: [any OwnedFile]
    var owners: [Object]
  }

  override func hasChanged(_ object: Object, since note: Any) -> Bool {
    (note as? Note).map { !UntypedForm.areSame(stored(of: object), $0.storedForm) } ?? true
  }
}

/// A value that contains objects whose fields are stored in the document of the owner.
protocol EmbeddedObjects {
  var embeddedObjects: [Object] { get }
}

/// A container that is stored in a field.
protocol StoredContainer: AnyObject {
  var storedForm: Any? { get }
  func decode(_ stored: Any)
}

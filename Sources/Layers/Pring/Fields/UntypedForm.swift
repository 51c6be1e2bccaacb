// Values without a declared type, as in `[Any]`, `[String: Any]` and `updateValue`.

import FirebaseFirestore
import Foundation

enum UntypedForm {
  /// Returns the stored form; nil if no field can hold the value.
  static func stored(_ any: Any) -> Any? {
    switch any {
    case let form as any FieldForm: return form.storedForm
    case is NSNull, is NSNumber, is FieldValue, is VectorValue: return any
    case let map as [String: Any]:
      var result: [String: Any] = [:]
      for (key, value) in map {
        guard let value = stored(value) else { return nil }
        result[key] = value
      }
      return result
    case let elements as [Any]:
      let result = elements.compactMap(stored)
      return result.count == elements.count ? result : nil
    default: return nil
    }
  }

  /// Whether two stored forms are the same.
  static func areSame(_ left: Any, _ right: Any) -> Bool {
    // 1 and 1.0 are equal, but their fields have different types.
    guard StoredNumber.kind(left) == StoredNumber.kind(right) else { return false }
    if let left = left as? any FieldForm { return areSame(left, right) }
    if let left = left as? [String: Any] {
      return (right as? [String: Any]).map { areSame(left, $0) { areSame($0, $1) } } ?? false
    }
    if let left = left as? [Any] {
      guard let right = right as? [Any], left.count == right.count else { return false }
      return zip(left, right).allSatisfy { areSame($0, $1) }
    }
    if let left = left as? NSObject { return left.isEqual(right) }
    return false
  }

  /// Compares names by their bytes, as documents do.
  static func areSame<Value>(
    _ left: [String: Value], _ right: [String: Value], _ areSame: (Value, Value) -> Bool
  ) -> Bool {
    left.count == right.count
      && left.allSatisfy { name, value in
        guard let index = right.index(forKey: name) else { return false }
        return String.areSame(right[index].key, name) && areSame(value, right[index].value)
      }
  }

  private static func areSame<Form: FieldForm>(_ left: Form, _ right: Any) -> Bool {
    (right as? Form).map { Form.areSame(left, $0) } ?? false
  }

  static func areSame(_ left: Any?, _ right: Any?) -> Bool {
    switch (left, right) {
    case (nil, nil): true
    case (let left?, let right?): areSame(left, right)
    default: false
    }
  }
}

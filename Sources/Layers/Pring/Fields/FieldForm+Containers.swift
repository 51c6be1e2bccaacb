// The field forms of optionals, arrays, sets and dictionaries.

import Foundation

extension Optional: FieldForm where Wrapped: FieldForm {
  var storedForm: Any? { self?.storedForm }

  static func local(from stored: Any, current: Wrapped??) -> Wrapped?? {
    if stored is NSNull { return .some(nil) }
    guard let wrapped = Wrapped.local(from: stored, current: current ?? nil) else { return nil }
    return .some(wrapped)
  }

  static func areSame(_ left: Wrapped?, _ right: Wrapped?) -> Bool {
    switch (left, right) {
    case (nil, nil): true
    case (let left?, let right?): Wrapped.areSame(left, right)
    default: false
    }
  }

  static var changesInPlace: Bool { Wrapped.changesInPlace }
  static var absentElement: Any? { NSNull() }
  static var samples: (Wrapped?, Wrapped?)? { Wrapped.samples.map { ($0.0, nil) } }
}

extension Array: FieldForm where Element: FieldForm {
  var storedForm: Any? { compactMap { $0.storedForm ?? Element.absentElement } as [Any] }

  /// Returns nil if one element has another type. The property then keeps its value.
  static func local(from stored: Any, current: [Element]?) -> [Element]? {
    guard let elements = stored as? [Any] else { return nil }
    var result: [Element] = []
    result.reserveCapacity(elements.count)
    for element in elements {
      guard let element = Element.local(from: element, current: nil) else { return nil }
      result.append(element)
    }
    return result
  }

  static func areSame(_ left: [Element], _ right: [Element]) -> Bool {
    left.count == right.count && zip(left, right).allSatisfy { Element.areSame($0, $1) }
  }

  static var changesInPlace: Bool { Element.changesInPlace }
  static var samples: ([Element], [Element])? { Element.samples.map { ([$0.0], []) } }
}

extension Dictionary: FieldForm where Key == String, Value: FieldForm {
  var storedForm: Any? { compactMapValues { $0.storedForm ?? Value.absentElement } as [String: Any] }

  static func local(from stored: Any, current: [String: Value]?) -> [String: Value]? {
    guard let map = stored as? [String: Any] else { return nil }
    var result: [String: Value] = [:]
    for (key, value) in map {
      guard let value = Value.local(from: value, current: nil) else { return nil }
      result[key] = value
    }
    return result
  }

  static func areSame(_ left: [String: Value], _ right: [String: Value]) -> Bool {
    UntypedForm.areSame(left, right, Value.areSame)
  }

  static var changesInPlace: Bool { Value.changesInPlace }
  static var samples: ([String: Value], [String: Value])? { Value.samples.map { (["a": $0.0], [:]) } }
}

/// Stores a map from each member to `true` if the member type is `LosslessStringConvertible`. Stores an array
/// otherwise.
extension Set: FieldForm where Element: FieldForm {
  var storedForm: Any? {
    guard Element.self is any LosslessStringConvertible.Type else {
      return compactMap { $0.storedForm } as [Any]
    }
    return [String: Any](uniqueKeysWithValues: map { ("\($0)", true) })
  }

  static func local(from stored: Any, current: Set<Element>?) -> Set<Element>? {
    if let map = stored as? [String: Any] { return members(map.keys) }
    guard let elements = stored as? [Any] else { return nil }
    // If the keys of a map are small integers, a server may store the map as an array.
    if !elements.isEmpty, elements.allSatisfy({ $0 is NSNull || StoredNumber.isBoolean($0) }) {
      let present = elements.indices.filter { elements[$0] as? Bool == true }
      if let members = members(present.map { "\($0)" }) { return members }
    }
    return [Element].local(from: elements, current: nil).map { Set($0) }
  }

  private static func members(_ names: some Sequence<String>) -> Set<Element>? {
    guard let type = Element.self as? any LosslessStringConvertible.Type else { return nil }
    var result: Set<Element> = []
    for name in names {
      guard let member = type.init(name) as? Element else { return nil }
      result.insert(member)
    }
    return result
  }

  /// Compares members with `Element.areSame`, because equal strings can have different bytes and so different
  /// stored forms.
  static func areSame(_ left: Set<Element>, _ right: Set<Element>) -> Bool {
    left.count == right.count
      && left.allSatisfy { member in
        right.firstIndex(of: member).map { Element.areSame(member, right[$0]) } ?? false
      }
  }

  static var samples: (Set<Element>, Set<Element>)? { Element.samples.map { ([$0.0], []) } }
}

// Between the objects of users and the tree of coded values, without the rules of documents.

private import DocumentStore
private import FirebaseCore
private import Foundation

// MARK: Out

extension CodedValue {
  var any: Any {
    switch self {
    case .stored(let leaf): UserData.leaf(leaf)
    case .timestamp(let timestamp): timestamp
    case .reference(let reference): reference
    case .decimal(let decimal): decimal
    case .sentinel(let sentinel): sentinel
    case .array(let array): array.elements.map(\.any)
    case .map(let map): map.dictionary
    case .recordMap, .recordArray: preconditionFailure("what is read from a document is not written")
    }
  }
}

extension CodedMap {
  /// Names that differ only in their normalisation are one key of a dictionary; the last counts.
  var dictionary: [String: Any] {
    var dictionary = [String: Any](minimumCapacity: entries.count)
    for (name, value) in entries { dictionary[name] = value.any }
    return dictionary
  }
}

// MARK: In

extension UserData {
  /// Far beyond what a document may hold, and far from the end of any thread's stack.
  private static let depthMax = 100

  static func coded(_ dictionary: [String: Any], depth: Int = 0) throws(UserDataError) -> CodedMap {
    try checkDepth(depth)
    let map = CodedMap()
    for (name, value) in dictionary { try append(value, named: name, to: map, depth: depth) }
    return map
  }

  private static func checkDepth(_ depth: Int) throws(UserDataError) {
    guard depth > depthMax else { return }
    throw UserDataError(.nestedTooDeeply)
  }

  /// Looks at the dynamic type first: `as` alone would take the number 1 for `true`.
  static func coded(_ any: Any, depth: Int = 0) throws(UserDataError) -> CodedValue {
    let type = type(of: any)
    if type == String.self, let string = any as? String { return .stored(.string(string)) }
    if type == NSNumber.self, let number = any as? NSNumber { return try coded(number) }
    if type == Int.self, let integer = any as? Int { return .stored(.integer(Int64(integer))) }
    if type == Double.self, let double = any as? Double { return .stored(.double(double)) }
    if type == Bool.self, let boolean = any as? Bool { return .stored(.boolean(boolean)) }
    if type is AnyObject.Type { return try coded(object: any as AnyObject, depth: depth) }
    if let optional = any as? any OptionalValue {
      guard let wrapped = optional.wrapped else { return .null }
      return try coded(wrapped, depth: depth + 1)
    }
    return try coded(value: any, depth: depth)
  }

  private static func coded(value any: Any, depth: Int) throws(UserDataError) -> CodedValue {
    switch any {
    case let dictionary as [String: Any]: return .map(try coded(dictionary, depth: depth + 1))
    case let array as [Any]: return .array(try coded(array, depth: depth + 1))
    case let date as Date: return .timestamp(Timestamp(date: date))
    case let data as Data: return .stored(.bytes([UInt8](data)))
    case let integer as any FixedWidthInteger: return try coded(integer)
    case let float as Float: return .stored(.double(Double(float)))
    case let float as CGFloat: return .stored(.double(Double(float)))
    case let decimal as Decimal: return .decimal(NSDecimalNumber(decimal: decimal))
    default: throw unsupported(any)
    }
  }

  private static func coded(object: AnyObject, depth: Int) throws(UserDataError) -> CodedValue {
    switch object {
    case let number as NSNumber: return try coded(number)
    case is NSNull: return .null
    case let string as NSString: return .stored(.string(string as String))
    case let timestamp as Timestamp: return .timestamp(timestamp)
    case let date as NSDate: return .timestamp(Timestamp(date: date as Date))
    case let data as NSData: return .stored(.bytes([UInt8](data as Data)))
    case let reference as DocumentReference: return .reference(reference)
    case let point as GeoPoint: return .stored(.geoPoint(point.stored))
    case let vector as VectorValue: return .stored(.vector(vector.array))
    case let sentinel as FieldValue: return .sentinel(sentinel)
    case let array as NSArray: return .array(try coded(array.map { $0 }, depth: depth + 1))
    case let dictionary as NSDictionary: return .map(try coded(dictionary, depth: depth + 1))
    default: throw unsupported(object)
    }
  }

  private static func coded(_ array: [Any], depth: Int) throws(UserDataError) -> CodedArray {
    try checkDepth(depth)
    do throws(UserDataError) {
      return CodedArray(try array.map { element throws(UserDataError) in try coded(element, depth: depth) })
    } catch {
      throw error.insideArray()
    }
  }

  private static func coded(
    _ dictionary: NSDictionary, depth: Int
  ) throws(UserDataError) -> CodedMap {
    try checkDepth(depth)
    let map = CodedMap()
    for (key, value) in dictionary {
      guard let name = key as? String else { throw unsupported(dictionary) }
      try append(value, named: name, to: map, depth: depth)
    }
    return map
  }

  private static func append(
    _ value: Any, named name: String, to map: CodedMap, depth: Int
  ) throws(UserDataError) {
    do throws(UserDataError) {
      map.append(name, try coded(value, depth: depth))
    } catch {
      throw error.inside(name)
    }
  }

  private static func coded(_ integer: any FixedWidthInteger) throws(UserDataError) -> CodedValue {
    guard let exact = Int64(exactly: integer) else {
      throw UserDataError(.numberTooLarge("\(integer)"), field: [])
    }
    return .stored(.integer(exact))
  }

  private static func coded(_ number: NSNumber) throws(UserDataError) -> CodedValue {
    // There are two booleans in a process, and no other number is one.
    if number === NSNumber(value: true) { return .stored(.boolean(true)) }
    if number === NSNumber(value: false) { return .stored(.boolean(false)) }
    if let decimal = number as? NSDecimalNumber { return .decimal(decimal) }
    switch unsafe UInt8(bitPattern: number.objCType.pointee) {
    case UInt8(ascii: "d"), UInt8(ascii: "f"): return .stored(.double(number.doubleValue))
    case UInt8(ascii: "Q"): return try coded(number.uint64Value)
    default: return .stored(.integer(number.int64Value))
    }
  }

  private static func unsupported(_ any: Any) -> UserDataError {
    UserDataError(.unsupportedType("\(type(of: any))"), field: [])
  }
}

/// An `Optional` that was put into `Any`; Apple's bridge makes `NSNull` of nil as well.
private protocol OptionalValue {
  var wrapped: Any? { get }
}

extension Optional: OptionalValue {
  fileprivate var wrapped: Any? { map { $0 } }
}

// Converts between users' objects and the tree of coded values. Does not check the rules for documents.

private import DocumentStore
private import FirebaseCore
private import Foundation

// MARK: To the API's objects

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
    case .other(let other): other
    case .recordMap, .recordArray: preconditionFailure("a value read from a document is not written")
    }
  }
}

extension CodedMap {
  /// The fields as a dictionary. Names that differ only in Unicode normalization become one key, with the
  /// value of the last such field.
  var dictionary: [String: Any] {
    var dictionary = [String: Any](minimumCapacity: entries.count)
    for (name, value) in entries { dictionary[name] = value.any }
    return dictionary
  }
}

// MARK: From the API's objects

extension UserData {
  /// The state of a recursive conversion.
  struct Walk {
    /// Far beyond the allowed depth of a document, but small enough for the stack of every thread.
    private static let depthMax = 100

    /// Whether the value is only read. In that case an object that cannot be written is kept unchanged, so
    /// that it can be decoded as its own type.
    var isReading = false
    private var depth = 0

    init(isReading: Bool = false) { self.isReading = isReading }

    var deeper: Walk {
      var walk = self
      walk.depth += 1
      return walk
    }

    func checkDepth() throws(UserDataError) {
      if depth > Self.depthMax { throw UserDataError(.nestedTooDeeply) }
    }
  }

  /// Converts a value for reading. Always succeeds.
  static func read(_ any: Any) -> CodedValue {
    do throws(UserDataError) { return try coded(any, Walk(isReading: true)) } catch {
      return .other(bare(any))
    }
  }

  static func coded(_ dictionary: [String: Any], _ walk: Walk = Walk()) throws(UserDataError) -> CodedMap {
    try walk.checkDepth()
    let map = CodedMap()
    for (name, value) in dictionary { try append(value, named: name, to: map, walk: walk) }
    return map
  }

  /// Converts a value. The dynamic type is checked first, because a cast with `as` would convert the number 1
  /// to `true`.
  static func coded(_ any: Any, _ walk: Walk = Walk()) throws(UserDataError) -> CodedValue {
    let type = type(of: any)
    if type == String.self, let string = any as? String { return .stored(.string(string)) }
    if type == NSNumber.self, let number = any as? NSNumber { return try coded(number) }
    if type == Int.self, let integer = any as? Int { return .stored(.integer(Int64(integer))) }
    if type == Double.self, let double = any as? Double { return .stored(.double(double)) }
    if type == Bool.self, let boolean = any as? Bool { return .stored(.boolean(boolean)) }
    if type == AnyHashable.self { return try coded(bare(any), walk) }
    if type is AnyObject.Type { return try coded(object: any as AnyObject, walk) }
    if let optional = any as? any OptionalValue {
      guard let wrapped = optional.wrapped else { return .null }
      return try coded(wrapped, walk.deeper)
    }
    return try coded(value: any, walk)
  }

  private static func coded(value any: Any, _ walk: Walk) throws(UserDataError) -> CodedValue {
    switch any {
    case let dictionary as [String: Any]: return .map(try coded(dictionary, walk.deeper))
    case let array as [Any]: return .array(try coded(array, walk.deeper))
    case let date as Date: return .timestamp(try coded(date))
    case let data as Data: return .stored(.bytes([UInt8](data)))
    case let integer as any FixedWidthInteger: return try coded(integer)
    case let float as Float: return .stored(.double(Double(float)))
    case let float as CGFloat: return .stored(.double(Double(float)))
    case let decimal as Decimal: return .decimal(NSDecimalNumber(decimal: decimal))
    default: throw unsupported(any)
    }
  }

  private static func coded(object: AnyObject, _ walk: Walk) throws(UserDataError) -> CodedValue {
    switch object {
    case let number as NSNumber: return try coded(number)
    case is NSNull: return .null
    case let string as NSString: return .stored(.string(string as String))
    case let timestamp as Timestamp: return .timestamp(timestamp)
    case let date as NSDate: return .timestamp(try coded(date as Date))
    case let data as NSData: return .stored(.bytes([UInt8](data as Data)))
    case let reference as DocumentReference: return .reference(reference)
    case let point as GeoPoint: return .stored(.geoPoint(point.stored))
    case let vector as VectorValue: return .stored(.vector(vector.array))
    case let sentinel as FieldValue: return .sentinel(sentinel)
    case let array as NSArray: return .array(try coded(array.map { $0 }, walk.deeper))
    case let dictionary as NSDictionary: return .map(try coded(dictionary, walk.deeper))
    default: throw unsupported(object)
    }
  }

  private static func coded(_ array: [Any], _ walk: Walk) throws(UserDataError) -> CodedArray {
    try walk.checkDepth()
    do throws(UserDataError) {
      return CodedArray(try array.map { element throws(UserDataError) in try part(element, walk) })
    } catch {
      throw error.insideArray()
    }
  }

  private static func coded(_ dictionary: NSDictionary, _ walk: Walk) throws(UserDataError) -> CodedMap {
    try walk.checkDepth()
    let map = CodedMap()
    for (key, value) in dictionary {
      guard let name = key as? String else { throw unsupported(dictionary) }
      try append(value, named: name, to: map, walk: walk)
    }
    return map
  }

  private static func append(
    _ value: Any, named name: String, to map: CodedMap, walk: Walk
  ) throws(UserDataError) {
    do throws(UserDataError) {
      map.append(name, try part(value, walk))
    } catch {
      throw error.inside(name)
    }
  }

  /// Converts the value of a field or an array element.
  private static func part(_ any: Any, _ walk: Walk) throws(UserDataError) -> CodedValue {
    do throws(UserDataError) { return try coded(any, walk) } catch {
      guard walk.isReading else { throw error }
      return .other(bare(any))
    }
  }

  /// Returns the value inside an `AnyHashable`, which dictionaries may contain; returns anything else
  /// unchanged.
  private static func bare(_ any: Any) -> Any {
    guard type(of: any) == AnyHashable.self, let hashable = any as? AnyHashable else { return any }
    return hashable.base
  }

  private static func coded(_ date: Date) throws(UserDataError) -> Timestamp {
    if let problem = Timestamp.problem(date: date) {
      throw UserDataError(.dateOutOfRange(problem), field: [])
    }
    return Timestamp(date: date)
  }

  private static func coded(_ integer: any FixedWidthInteger) throws(UserDataError) -> CodedValue {
    guard let exact = Int64(exactly: integer) else {
      throw UserDataError(.numberTooLarge("\(integer)"), field: [])
    }
    return .stored(.integer(exact))
  }

  private static func coded(_ number: NSNumber) throws(UserDataError) -> CodedValue {
    // A process has two boolean objects, `true` and `false`, and no other number object is identical to one
    // of them.
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

/// The protocol of an `Optional` inside an `Any`. On Apple's systems, bridging also converts nil to `NSNull`.
protocol OptionalValue {
  var wrapped: Any? { get }
}

extension Optional: OptionalValue {
  var wrapped: Any? { map { $0 } }
}

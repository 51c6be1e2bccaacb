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
    case .other(let other): other
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
  /// On the way down through the objects of a user.
  struct Walk {
    /// Far beyond what a document may hold, and far from the end of any thread's stack.
    private static let depthMax = 100

    /// What is read need not be what can be written: it stays as it is, for whoever asks for it.
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

  /// A value that is read: always one.
  static func read(_ any: Any) -> CodedValue {
    do throws(UserDataError) { return try coded(any, Walk(isReading: true)) } catch {
      return .other(bare(any))
    }
  }

  static func coded(_ dictionary: [String: Any], _ walk: Walk = Walk()) throws(UserDataError) -> CodedMap {
    try walk.checkDepth()
    let map = CodedMap()
    for (name, value) in dictionary { try append(value, named: name, to: map, walk) }
    return map
  }

  /// Looks at the dynamic type first: `as` alone would take the number 1 for `true`.
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
      try append(value, named: name, to: map, walk)
    }
    return map
  }

  private static func append(
    _ value: Any, named name: String, to map: CodedMap, _ walk: Walk
  ) throws(UserDataError) {
    do throws(UserDataError) {
      map.append(name, try part(value, walk))
    } catch {
      throw error.inside(name)
    }
  }

  /// A field or an element.
  private static func part(_ any: Any, _ walk: Walk) throws(UserDataError) -> CodedValue {
    do throws(UserDataError) { return try coded(any, walk) } catch {
      guard walk.isReading else { throw error }
      return .other(bare(any))
    }
  }

  /// What is in an `AnyHashable`, of which a dictionary can be full; anything else is that itself.
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
protocol OptionalValue {
  var wrapped: Any? { get }
}

extension Optional: OptionalValue {
  var wrapped: Any? { map { $0 } }
}

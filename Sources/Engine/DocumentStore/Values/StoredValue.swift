// The values that documents can contain.

/// A value in a document. Equal only if type and content are identical; doubles are compared bit by bit.
///
/// ```swift
/// let value = StoredValue.array([.string("mathematics"), .integer(1), .map(StoredMap([("n", .null)]))])
/// if case .array(let elements) = value, case .string(let first)? = elements.first { print(first) }
/// ```
public enum StoredValue: Sendable {
  /// Null, which is a value.
  case null
  /// True or false.
  case boolean(Bool)
  /// A 64-bit integer.
  case integer(Int64)
  /// A double, including NaN and the infinities.
  case double(Double)
  /// A timestamp in microseconds.
  case timestamp(StoredTimestamp)
  /// A server timestamp that a remote has not set yet. Holds the local time of the write and the previous
  /// value. Exists only in a cache, while the write is pending.
  indirect case pendingTimestamp(StoredTimestamp, previous: StoredValue?)
  /// A string.
  case string(String)
  /// A byte string.
  case bytes([UInt8])
  /// A reference to a document.
  case reference(StoredReference)
  /// A geographic location.
  case geoPoint(StoredGeoPoint)
  /// An array. Cannot directly contain another array.
  case array([StoredValue])
  /// A vector for similarity search.
  case vector([Double])
  /// A map of fields.
  case map(StoredMap)
}

/// A reference to a document.
public struct StoredReference: Hashable, Sendable {
  /// The project of the document; empty for the store itself.
  public var projectID: String
  /// The database of the document; empty for the store itself.
  public var databaseID: String
  /// The path of the document.
  public var path: DocumentPath

  /// Creates a reference. Empty names mean the store's own database.
  public init(projectID: String, databaseID: String, path: DocumentPath) {
    self.projectID = projectID
    self.databaseID = databaseID
    self.path = path
  }
}

/// A geographic location in degrees.
public struct StoredGeoPoint: Hashable, Sendable {
  /// From -90 to 90.
  public let latitude: Double
  /// From -180 to 180.
  public let longitude: Double

  /// Nil outside -90...90 and -180...180, and for NaN.
  public init?(latitude: Double, longitude: Double) {
    guard (-90...90).contains(latitude), (-180...180).contains(longitude) else { return nil }
    self.latitude = latitude
    self.longitude = longitude
  }
}

/// Fields sorted by the UTF-8 bytes of their names.
///
/// Not a dictionary, because Swift compares strings by canonical equivalence while field names differ by
/// bytes. The encoded form needs the order, too.
///
/// ```swift
/// var fields = StoredMap([("name", .string("Ada")), ("age", .integer(36))])
/// fields["age"] = nil
/// fields["city"] = .string("London")
/// print(fields.entries.map(\.name))  // ["city", "name"]
/// ```
public struct StoredMap: Sendable {
  /// The name and value of a field.
  public typealias Entry = (name: String, value: StoredValue)

  /// The fields in name order.
  public private(set) var entries: [Entry]

  /// Creates an empty map.
  public init() { entries = [] }

  /// Creates a map. If several entries have the same name, the last one wins.
  public init(_ unsorted: some Sequence<Entry>) {
    entries = Array(unsorted)
    if isInOrder { return }
    // The sort is stable, so among entries with equal names, the last one stays last.
    entries.sort { $0.name.precedesInUTF8($1.name) }
    if isInOrder { return }
    var unique: [Entry] = []
    unique.reserveCapacity(entries.count)
    for entry in entries {
      if let last = unique.last, last.name.isSameUTF8(as: entry.name) { unique.removeLast() }
      unique.append(entry)
    }
    entries = unique
  }

  /// `entries` must be sorted and without duplicates.
  init(sorted entries: [Entry]) { self.entries = entries }

  /// Whether the map has no fields.
  public var isEmpty: Bool { entries.isEmpty }
  /// The number of fields.
  public var count: Int { entries.count }

  public subscript(name: String) -> StoredValue? {
    get {
      let index = position(of: name)
      return isName(name, at: index) ? entries[index].value : nil
    }
    set {
      let index = position(of: name)
      switch (isName(name, at: index), newValue) {
      case (true, let value?): entries[index].value = value
      case (true, nil): entries.remove(at: index)
      case (false, let value?): entries.insert((name, value), at: index)
      case (false, nil): break
      }
    }
  }

  /// The value of a field, for callers that read many similar maps. `place` is the field's position in the
  /// previous map, and becomes its position in this map.
  @inline(__always)
  func value(of name: String, near place: inout Int) -> StoredValue? {
    has(name, near: &place) ? entries[place].value : nil
  }

  /// Whether the field exists. If it exists, `place` becomes its position.
  @inline(__always)
  func has(_ name: String, near place: inout Int) -> Bool {
    if isName(name, at: place) { return true }
    place = position(of: name)
    return isName(name, at: place)
  }

  /// Whether the names strictly ascend, so none is duplicated.
  private var isInOrder: Bool {
    for index in entries.indices.dropFirst()
    where !entries[index - 1].name.precedesInUTF8(entries[index].name) {
      return false
    }
    return true
  }

  /// The first position whose name is not less than `name`.
  private func position(of name: String) -> Int {
    // Use the buffer, because comparing array elements would retain and release each name.
    unsafe entries.withUnsafeBufferPointer { entries in
      guard let last = entries.indices.last else { return 0 }
      // Fields mostly arrive in order, so this comparison is usually enough.
      if unsafe entries.name(at: last).pointee.precedesInUTF8(name) { return last + 1 }
      var low = 0
      var high = last
      while low < high {
        let middle = (low + high) / 2
        let isBelow = unsafe entries.name(at: middle).pointee.precedesInUTF8(name)
        if isBelow { low = middle + 1 } else { high = middle }
      }
      return low
    }
  }

  /// Sets a value. Creates missing maps along the path, and replaces other values along the path by maps.
  package mutating func set(_ value: StoredValue, at path: StoredFieldPath) {
    set(value, at: path.names[...])
  }

  private mutating func set(_ value: StoredValue, at names: ArraySlice<String>) {
    guard let name = names.first else { return }
    guard names.count > 1 else {
      self[name] = value
      return
    }
    let index = position(of: name)
    if !isName(name, at: index) { entries.insert((name, .null), at: index) }
    var inner = StoredMap()
    if case .map(let existing) = entries[index].value { inner = existing }
    // Drop the reference that this map holds. Otherwise the inner map would be shared, and the change below
    // would copy it.
    entries[index].value = .null
    inner.set(value, at: names.dropFirst())
    entries[index].value = .map(inner)
  }

  @inline(__always)
  private func isName(_ name: String, at index: Int) -> Bool {
    // Use the buffer, because reading an array element would retain and release its name and value.
    unsafe entries.withUnsafeBufferPointer { entries in
      guard index < entries.count else { return false }
      return unsafe entries.name(at: index).pointee.isSameUTF8(as: name)
    }
  }
}

extension StoredReference {
  public static func == (left: Self, right: Self) -> Bool {
    left.projectID.isSameUTF8(as: right.projectID) && left.databaseID.isSameUTF8(as: right.databaseID)
      && left.path == right.path
  }

  public func hash(into hasher: inout Hasher) {
    [projectID, databaseID].hashUTF8(into: &hasher)
    hasher.combine(path)
  }
}

extension StoredGeoPoint {
  public static func == (left: Self, right: Self) -> Bool {
    left.latitude.bitPattern == right.latitude.bitPattern
      && left.longitude.bitPattern == right.longitude.bitPattern
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(latitude.bitPattern)
    hasher.combine(longitude.bitPattern)
  }
}

extension UnsafeBufferPointer<StoredMap.Entry> {
  /// A pointer to the name. The buffer's subscript would also copy the value.
  func name(at place: Int) -> UnsafePointer<String> {
    // The first element of a tuple is at the tuple's address. A key path would be slow in unoptimized
    // builds.
    unsafe UnsafeRawPointer(baseAddress! + place).assumingMemoryBound(to: String.self)
  }

  /// A pointer to the value, without copying it.
  @inline(__always)
  func value(at place: Int) -> UnsafePointer<StoredValue> {
    unsafe UnsafeRawPointer(name(at: place) + 1).alignedUp(for: StoredValue.self)
      .assumingMemoryBound(to: StoredValue.self)
  }
}

extension StoredMap: Equatable {
  public static func == (left: Self, right: Self) -> Bool {
    guard left.count == right.count else { return false }
    // Use the buffers, because comparing array elements would retain and release each name and value.
    return unsafe left.entries.withUnsafeBufferPointer { left in
      unsafe right.entries.withUnsafeBufferPointer { right in
        // Both maps share one buffer, so they are equal. This is correct even for NaN, which equals itself
        // here.
        if unsafe left.baseAddress == right.baseAddress { return true }
        for place in left.indices {
          guard unsafe left.name(at: place).pointee.isSameUTF8(as: right.name(at: place).pointee),
            unsafe left[place].value == right[place].value
          else { return false }
        }
        return true
      }
    }
  }
}

extension StoredValue: Equatable {
  public static func == (left: Self, right: Self) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.boolean(let left), .boolean(let right)): left == right
    case (.integer(let left), .integer(let right)): left == right
    case (.double(let left), .double(let right)): isSame(left, right)
    case (.timestamp(let left), .timestamp(let right)): left == right
    case (.pendingTimestamp(let left, let leftPrevious), .pendingTimestamp(let right, let rightPrevious)):
      left == right && leftPrevious == rightPrevious
    case (.string(let left), .string(let right)): left.isSameUTF8(as: right)
    case (.bytes(let left), .bytes(let right)): left == right
    case (.reference(let left), .reference(let right)): left == right
    case (.geoPoint(let left), .geoPoint(let right)): left == right
    case (.array(let left), .array(let right)): left == right
    case (.vector(let left), .vector(let right)): left.elementsEqual(right, by: isSame)
    case (.map(let left), .map(let right)): left == right
    default: false
    }
  }

  /// Compares bit by bit, but treats all NaNs as equal.
  private static func isSame(_ left: Double, _ right: Double) -> Bool {
    left.bitPattern == right.bitPattern || (left.isNaN && right.isNaN)
  }
}

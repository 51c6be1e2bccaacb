// The values that a document can hold.

/// One value of a document. Equality is identity: same type, same content; doubles bit for bit.
///
/// ```swift
/// let value = StoredValue.array([.string("mathematics"), .integer(1), .map(StoredMap([("n", .null)]))])
/// if case .array(let elements) = value, case .string(let first)? = elements.first { print(first) }
/// ```
public enum StoredValue: Sendable {
  /// Nothing, which is a value.
  case null
  /// True or false.
  case boolean(Bool)
  /// A whole number of 64 bits.
  case integer(Int64)
  /// A number with a point, NaN and the infinities among them.
  case double(Double)
  /// A moment, in microseconds.
  case timestamp(StoredTimestamp)
  /// A time that a remote has still to set: when the write was made here, and what was there before. Only a cache
  /// has it, as long as the write is pending.
  indirect case pendingTimestamp(StoredTimestamp, previous: StoredValue?)
  /// Text.
  case string(String)
  /// Bytes.
  case bytes([UInt8])
  /// Another document.
  case reference(StoredReference)
  /// A place on earth.
  case geoPoint(StoredGeoPoint)
  /// Values in order; no array directly in an array.
  case array([StoredValue])
  /// Numbers for searches by nearness.
  case vector([Double])
  /// Fields by name.
  case map(StoredMap)
}

/// A document of a database, as a value.
public struct StoredReference: Hashable, Sendable {
  /// Whose document; empty for the store's own.
  public var projectID: String
  /// Of which database; empty for the store's own.
  public var databaseID: String
  /// Which document.
  public var path: DocumentPath

  /// Refers to a document, of the store's own database if both names are empty.
  public init(projectID: String, databaseID: String, path: DocumentPath) {
    self.projectID = projectID
    self.databaseID = databaseID
    self.path = path
  }
}

/// A place on earth, in degrees.
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

/// Fields by name, sorted by the names' UTF-8 bytes.
///
/// Not a dictionary: Swift's strings are equal when they look the same, names only when their bytes
/// are, and the stored form needs the order anyway.
///
/// ```swift
/// var fields = StoredMap([("name", .string("Ada")), ("age", .integer(36))])
/// fields["age"] = nil
/// fields["city"] = .string("London")
/// print(fields.entries.map(\.name))  // ["city", "name"]
/// ```
public struct StoredMap: Sendable {
  /// A field: its name and its value.
  public typealias Entry = (name: String, value: StoredValue)

  /// In the order of their names.
  public private(set) var entries: [Entry]

  /// Without fields.
  public init() { entries = [] }

  /// Of several entries with one name, the last counts.
  public init(_ unsorted: some Sequence<Entry>) {
    entries = Array(unsorted)
    if isInOrder { return }
    // The sort is stable, so that of equal names the one that came last is last.
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

  /// Entries that are known to be in order, without repetition.
  init(sorted entries: [Entry]) { self.entries = entries }

  /// Whether there are no fields.
  public var isEmpty: Bool { entries.isEmpty }
  /// How many fields there are.
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

  /// The same for who asks maps that are alike: `place` is where the field was in the one before.
  @inline(__always)
  func value(of name: String, near place: inout Int) -> StoredValue? {
    has(name, near: &place) ? entries[place].value : nil
  }

  /// Whether there is such a field, and then at which `place`.
  @inline(__always)
  func has(_ name: String, near place: inout Int) -> Bool {
    if isName(name, at: place) { return true }
    place = position(of: name)
    return isName(name, at: place)
  }

  /// Whether each name comes before the next, which also means that no two are the same.
  private var isInOrder: Bool {
    for index in entries.indices.dropFirst()
    where !entries[index - 1].name.precedesInUTF8(entries[index].name) {
      return false
    }
    return true
  }

  /// The first position whose name is not before `name`.
  private func position(of name: String) -> Int {
    // Names in an array would be counted as referred to, each that is compared.
    unsafe entries.withUnsafeBufferPointer { entries in
      guard let last = entries.indices.last else { return 0 }
      // Fields mostly arrive in order, then this is the whole search.
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

  /// Makes the maps on the way; what is in the way and is no map is replaced by one.
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
    // Let go of the map in here, or the change would copy it.
    entries[index].value = .null
    inner.set(value, at: names.dropFirst())
    entries[index].value = .map(inner)
  }

  @inline(__always)
  private func isName(_ name: String, at index: Int) -> Bool {
    // A field in an array would be counted as referred to, its value as well.
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
  /// Where the name lies. The subscript of the buffer would copy the value beside it.
  func name(at place: Int) -> UnsafePointer<String> {
    // The first of a tuple lies where the tuple does. A key path would be looked up in builds without optimisation.
    unsafe UnsafeRawPointer(baseAddress! + place).assumingMemoryBound(to: String.self)
  }

  /// The value beside it, which is not copied either.
  @inline(__always)
  func value(at place: Int) -> UnsafePointer<StoredValue> {
    unsafe UnsafeRawPointer(name(at: place) + 1).alignedUp(for: StoredValue.self)
      .assumingMemoryBound(to: StoredValue.self)
  }
}

extension StoredMap: Equatable {
  public static func == (left: Self, right: Self) -> Bool {
    guard left.count == right.count else { return false }
    // Names and values in arrays would be counted as referred to, each that is compared.
    return unsafe left.entries.withUnsafeBufferPointer { left in
      unsafe right.entries.withUnsafeBufferPointer { right in
        // One map compared with itself: a NaN is the same as another here.
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

  /// Bit for bit, except that there is one NaN.
  private static func isSame(_ left: Double, _ right: Double) -> Bool {
    left.bitPattern == right.bitPattern || (left.isNaN && right.isNaN)
  }
}

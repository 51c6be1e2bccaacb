// Maps of fields.
//
// A map has one of two forms, which behave the same: entries, or fields in an encoded form. Documents that
// are read, and documents that the encoders of this module write, stay encoded until their entries are
// needed. A change turns a map into entries.

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

  private enum Form {
    case entries([Entry])
    case encoded(any EncodedFields)
  }

  private var form: Form

  /// The fields in name order.
  public var entries: [Entry] {
    switch form {
    case .entries(let entries): entries
    case .encoded(let fields): fields.entries
    }
  }

  /// The encoded fields, if the map has this form.
  var encoded: (any EncodedFields)? {
    if case .encoded(let fields) = form { fields } else { nil }
  }

  /// Whether the map has encoded fields.
  var isEncoded: Bool { if case .encoded = form { true } else { false } }

  /// Creates an empty map.
  public init() { form = .entries([]) }

  /// Creates a map. If several entries have the same name, the last one wins.
  public init(_ unsorted: some Sequence<Entry>) {
    form = .entries(Self.sorted(Array(unsorted)))
  }

  private static func sorted(_ entries: consuming [Entry]) -> [Entry] {
    if entries.isInOrder { return entries }
    // The sort is stable, so among entries with equal names, the last one stays last.
    entries.sort { $0.name.precedesInUTF8($1.name) }
    if entries.isInOrder { return entries }
    var unique: [Entry] = []
    unique.reserveCapacity(entries.count)
    for entry in entries {
      if let last = unique.last, last.name.isSameUTF8(as: entry.name) { unique.removeLast() }
      unique.append(entry)
    }
    return unique
  }

  /// `entries` must be sorted and without duplicates.
  init(sorted entries: [Entry]) { form = .entries(entries) }

  init(_ encoded: any EncodedFields) { form = .encoded(encoded) }

  /// Whether the map has no fields.
  public var isEmpty: Bool { count == 0 }
  /// The number of fields.
  public var count: Int {
    switch form {
    case .entries(let entries): entries.count
    case .encoded(let fields): fields.count
    }
  }

  public subscript(name: String) -> StoredValue? {
    get {
      switch form {
      case .entries(let entries):
        let index = entries.position(of: name)
        return entries.isName(name, at: index) ? entries[index].value : nil
      case .encoded(let fields):
        return fields.value(of: name)
      }
    }
    set {
      // Removing an absent field leaves encoded fields encoded.
      if newValue == nil, let encoded, encoded.value(of: name) == nil { return }
      change { entries in
        let index = entries.position(of: name)
        switch (entries.isName(name, at: index), newValue) {
        case (true, let value?): entries[index].value = value
        case (true, nil): entries.remove(at: index)
        case (false, let value?): entries.insert((name, value), at: index)
        case (false, nil): break
        }
      }
    }
  }

  /// Changes the entries in place.
  private mutating func change(_ body: (inout [Entry]) -> Void) {
    var entries = entries
    // Drop the reference that this map holds. Otherwise the change would copy the array.
    form = .entries([])
    body(&entries)
    form = .entries(entries)
  }

  /// The value of a field, for callers that read many similar maps. `place` is the field's position in the
  /// previous map, and becomes its position in this map.
  @inline(__always)
  func value(of name: String, near place: inout Int) -> StoredValue? {
    switch form {
    case .entries(let entries): entries.has(name, near: &place) ? entries[place].value : nil
    case .encoded(let fields): fields.value(of: name)
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
    change { entries in
      let index = entries.position(of: name)
      if !entries.isName(name, at: index) { entries.insert((name, .null), at: index) }
      var inner = StoredMap()
      if case .map(let existing) = entries[index].value { inner = existing }
      // Drop the reference that this map holds. Otherwise the inner map would be shared, and the change below
      // would copy it.
      entries[index].value = .null
      inner.set(value, at: names.dropFirst())
      entries[index].value = .map(inner)
    }
  }
}

extension [StoredMap.Entry] {
  /// Whether the names strictly ascend, so none is duplicated.
  fileprivate var isInOrder: Bool {
    for index in indices.dropFirst() where !self[index - 1].name.precedesInUTF8(self[index].name) {
      return false
    }
    return true
  }

  /// The first position whose name is not less than `name`.
  fileprivate func position(of name: String) -> Int {
    // Use the buffer, because comparing array elements would retain and release each name.
    unsafe withUnsafeBufferPointer { entries in
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

  /// Whether the field exists. If it exists, `place` becomes its position.
  @inline(__always)
  fileprivate func has(_ name: String, near place: inout Int) -> Bool {
    if isName(name, at: place) { return true }
    place = position(of: name)
    return isName(name, at: place)
  }

  @inline(__always)
  fileprivate func isName(_ name: String, at index: Int) -> Bool {
    // Use the buffer, because reading an array element would retain and release its name and value.
    unsafe withUnsafeBufferPointer { entries in
      guard index < entries.count else { return false }
      return unsafe entries.name(at: index).pointee.isSameUTF8(as: name)
    }
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
    if let left = left.encoded, let right = right.encoded, let isSame = left.isSame(as: right) {
      return isSame
    }
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

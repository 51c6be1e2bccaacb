// The encoder that a value receives. It collects one coded value; each nested value has its own encoder.

/// An encoder of one value. The chain of its parents is the coding path.
final class ValueEncoder: Encoder {
  /// The position in the parent's map or array where a value must be stored as soon as it is written. An
  /// encoder that was handed out for this position is not read again later.
  enum Slot {
    case field(CodedMap, String)
    case element(CodedArray, Int)
  }

  let options: EncodingOptions
  /// True for dictionaries, whose keys are data and therefore not converted between camel case and snake
  /// case.
  let keysAreExact: Bool
  /// The value written so far; nil until something is written.
  private(set) var value: CodedValue?
  /// Whether the encoded value wants no field in the document.
  private(set) var isOmitted = false
  /// The position at which this value or a nested value was written a second time. The method that detects
  /// the second write may be unable to throw, so the method that started the encoding of the value throws
  /// later.
  private var secondWrite: EncodingError.Context?

  /// Far deeper than a document may be nested, and still shallow enough for the stack of any thread.
  private static let depthMax = 100

  private let parent: ValueEncoder?
  private let key: (any CodingKey)?
  private let slot: Slot?
  private let depth: Int

  init(_ options: EncodingOptions) {
    self.options = options
    keysAreExact = false
    parent = nil
    key = nil
    slot = nil
    depth = 0
  }

  private init(
    below parent: ValueEncoder?, _ key: (any CodingKey)?, options: EncodingOptions,
    keysAreExact: Bool, slot: Slot?
  ) {
    self.parent = parent
    self.key = key
    self.options = options
    self.keysAreExact = keysAreExact
    self.slot = slot
    depth = (parent?.depth ?? 0) + 1
  }

  var userInfo: [CodingUserInfoKey: Any] { options.userInfo }

  var codingPath: [any CodingKey] { path(to: nil) }

  func path(to last: (any CodingKey)?) -> [any CodingKey] {
    var reversed: [any CodingKey] = last.map { [$0] } ?? []
    var current: ValueEncoder? = self
    while let encoder = current {
      if let key = encoder.key { reversed.append(key) }
      current = encoder.parent
    }
    return reversed.reversed()
  }

  // MARK: Below

  /// Returns the coded form of `value`; nil if the value wants no field. Without a key, the value takes the
  /// place of this encoder's own value.
  func coded<T: Encodable>(_ value: T, at key: (any CodingKey)?) throws -> CodedValue? {
    if let leaf = try leaf(value, at: key) { return leaf }
    guard depth < Self.depthMax else {
      throw EncodingError.invalidValue(
        value,
        EncodingError.Context(
          codingPath: path(to: key), debugDescription: "Maps and arrays may be nested 20 deep."))
    }
    let child = child(at: key, keysAreExact: options.convertsKeys && value is any StringKeyed)
    try value.encode(to: child)
    try child.checkWrittenOnce(value)
    return child.isOmitted ? nil : child.result
  }

  func child(at key: (any CodingKey)?, keysAreExact: Bool = false) -> ValueEncoder {
    ValueEncoder(
      below: key == nil ? parent : self, key ?? self.key, options: options, keysAreExact: keysAreExact,
      slot: nil)
  }

  /// Returns an encoder that stores its value in `slot`. If `existing` is a container, the encoder adds to
  /// it.
  func child(at key: any CodingKey, in slot: Slot, over existing: CodedValue? = nil) -> ValueEncoder {
    let child = ValueEncoder(below: self, key, options: options, keysAreExact: false, slot: slot)
    child.value = existing
    return child
  }

  /// A value that encodes nothing becomes an empty map, just as it becomes an empty object in JSON.
  var result: CodedValue { value ?? .map(CodedMap()) }

  // MARK: Written by the value

  func write(_ new: CodedValue) {
    guard value == nil else { return refuse() }
    value = new
    switch slot {
    case .field(let map, let name)?: map[name] = new
    case .element(let array, let index)?: array.elements[index] = new
    case nil: break
    }
  }

  func checkWrittenOnce(_ value: Any) throws {
    if let secondWrite { throw EncodingError.invalidValue(value, secondWrite) }
  }

  private func refuse() {
    let context = EncodingError.Context(
      codingPath: codingPath,
      debugDescription: "A value was encoded a second time, or in containers of two kinds.")
    var encoder: ValueEncoder? = self
    while let refused = encoder {
      refused.secondWrite = refused.secondWrite ?? context
      encoder = refused.parent
    }
  }

  func omit() { isOmitted = true }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    // A class and its superclass may each request a container for the same fields.
    if case .map(let map)? = value { return KeyedEncodingContainer(MapEncodingContainer(self, map)) }
    let map = CodedMap()
    write(.map(map))
    return KeyedEncodingContainer(MapEncodingContainer(self, map))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    if case .array(let array)? = value { return ArrayEncodingContainer(self, array) }
    let array = CodedArray()
    write(.array(array))
    return ArrayEncodingContainer(self, array)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { self }
}

// This generic method implements the protocol's fifteen methods.
extension ValueEncoder: SingleValueEncodingContainer {
  func encodeNil() { write(.null) }

  func encode<T: Encodable>(_ value: T) throws {
    if let coded = try coded(value, at: nil) { write(coded) } else { omit() }
  }
}

/// A dictionary with string keys, which become field names.
protocol StringKeyed {}

extension Dictionary: StringKeyed where Key == String {}

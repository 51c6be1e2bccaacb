// An encoder that writes a value's fields as a record while the value encodes itself.
//
// One encoder serves all nested values: each of them has a frame, and the innermost frame is the current one.
// The encoder gives up if a value does more than that, for example if it keeps a nested container open, and
// for every error. The value is then encoded a second time as a tree (ValueEncoder.swift), which finds the
// error.

import ByteStore
import DocumentStore
private import Synchronization

@safe
final class RecordValueEncoder: Encoder {
  /// The value must be encoded as a tree. It does not matter who catches this error.
  struct GivesUp: Error {}

  private enum Content { case empty, map, array, value, sentinel, omitted }

  /// A value that encodes itself.
  private struct Frame {
    var content = Content.empty
    /// Distinguishes this frame from all others of this encoder.
    var serial: Int
    /// Whether this value, or a value around it in the same place, is the document.
    var isDocument: Bool
    /// The name of the field; nil for an element, and for the document.
    var name: String?
    var key: (any CodingKey)?
    var map: RecordWriter.OpenMap?
    var array: RecordWriter.OpenArray?
    var elements = 0
    /// Whether a field of the map was left to the commit.
    var hasComputedField = false

    var isElement: Bool { name == nil && !isDocument }
  }

  /// The outcome for a value that encoded itself.
  private enum Outcome {
    case written
    /// The commit computes the value, or all fields of the map.
    case computed
    /// The value wants no field.
    case omitted
  }

  private struct ComputedField {
    /// The serial number of the frame that the field belongs to; 0 for a field of the document.
    var frame: Int
    var name: String
  }

  /// As deep as the tree encoder encodes.
  private static let depthMax = 100

  /// The state that changes.
  @safe
  private struct State {
    /// Valid while the outermost value encodes itself.
    var writer: UnsafeMutablePointer<RecordWriter>?
    var frame: Frame
    var outer: [Frame] = []
    var lastSerial = 0
    var arrayDepth = 0
    var sentinels: [EncodedFields.Sentinel] = []
    /// The names of the fields of open maps that were left to the commit.
    var computedFields: [ComputedField] = []
    var hasGivenUp = false
    /// Whether values of the same type as the outermost one will hold several containers open, too.
    var needsTree = false
  }

  /// Belongs to this object until its end. The state is not stored in properties, because the exclusivity
  /// checks of a class would take longer than most of the accesses.
  private let state: UnsafeMutablePointer<State>
  private let context: Context

  /// The settings that all values of a document share.
  struct Context {
    var firestore: Firestore?
    var userInfo: [CodingUserInfoKey: Any] = [:]
    /// The fields of the document that are not written.
    var computed = ComputedFields.none
  }

  private init(
    _ writer: UnsafeMutablePointer<RecordWriter>, _ map: RecordWriter.OpenMap, in context: Context
  ) {
    unsafe state = .allocate(capacity: 1)
    unsafe state.initialize(to: State(writer: writer, frame: Frame(serial: 0, isDocument: true, map: map)))
    self.context = context
  }

  var firestore: Firestore? { context.firestore }
  var userInfo: [CodingUserInfoKey: Any] { context.userInfo }

  deinit {
    unsafe state.deinitialize(count: 1)
    unsafe state.deallocate()
  }

  private var writer: UnsafeMutablePointer<RecordWriter>? {
    get { unsafe state.pointee.writer }
    set { unsafe state.pointee.writer = unsafe newValue }
  }

  private var frame: Frame {
    @inline(__always) get { unsafe state.pointee.frame }
    @inline(__always) _modify { yield unsafe &state.pointee.frame }
  }

  private var outer: [Frame] {
    get { unsafe state.pointee.outer }
    _modify { yield unsafe &state.pointee.outer }
  }

  private var arrayDepth: Int {
    get { unsafe state.pointee.arrayDepth }
    set { unsafe state.pointee.arrayDepth = newValue }
  }

  private var sentinels: [EncodedFields.Sentinel] {
    get { unsafe state.pointee.sentinels }
    _modify { yield unsafe &state.pointee.sentinels }
  }

  private var hasGivenUp: Bool {
    get { unsafe state.pointee.hasGivenUp }
    set { unsafe state.pointee.hasGivenUp = newValue }
  }

  // MARK: Documents

  /// Encodes the fields of a value. Nil if the value must be encoded as a tree.
  static func fields<T: Encodable>(
    _ value: T, with encoder: FieldsEncoder, in context: Context
  ) -> EncodedFields? {
    let type = ObjectIdentifier(T.self)
    guard !TreeTypes.contain(type) else { return nil }
    var sentinels: [EncodedFields.Sentinel] = []
    let kind = Int(bitPattern: type) &>> 5
    let stored = try? encoder.encode(kind: kind) { writer, map throws(GivesUp) in
      sentinels = try unsafe withUnsafeMutablePointer(to: &writer) { writer throws(GivesUp) in
        let encoder = unsafe RecordValueEncoder(writer, map, in: context)
        // The encoder may outlive this call if the value keeps it. It then has no writer.
        defer { unsafe encoder.writer = nil }
        do { try value.encode(to: encoder) } catch { encoder.giveUp() }
        if unsafe encoder.state.pointee.needsTree { TreeTypes.insert(type) }
        return try encoder.finish()
      }
    }
    // If a field was written twice, the first value may have contained one of the sentinels.
    guard let stored, sentinels.isEmpty || stored.hasFieldsWrittenOnce else { return nil }
    return EncodedFields(fields: stored, sentinels: sentinels)
  }

  private func finish() throws(GivesUp) -> [EncodedFields.Sentinel] {
    guard !hasGivenUp, outer.isEmpty, frame.content == .map || frame.content == .empty,
      let map = frame.map, endComputedFields(of: 0, in: map)
    else { throw GivesUp() }
    guard !context.computed.isEmpty else { return sentinels.inNameOrder }
    return sentinels.inNameOrder + context.computed.sentinels
  }

  private func giveUp() { hasGivenUp = true }

  // MARK: Frames

  var codingPath: [any CodingKey] { (outer + [frame]).compactMap(\.key) }

  /// Encodes a value that the type of `T` encodes itself, in the place of the field or element that was just
  /// begun.
  private func encodeItself<T: Encodable>(
    _ value: T, name: String?, key: (any CodingKey)?, isDocument: Bool = false
  ) throws -> Outcome {
    guard !hasGivenUp, outer.count < Self.depthMax,
      let isWithinLimits = unsafe writer?.pointee.isWithinLimits,
      isWithinLimits
    else { return try refuse() }
    unsafe state.pointee.lastSerial += 1
    let serial = unsafe state.pointee.lastSerial
    let map = isDocument ? frame.map : nil
    outer.append(frame)
    frame = Frame(serial: serial, isDocument: isDocument, name: name, key: key, map: map)
    do { try value.encode(to: self) } catch {
      // The tree encoder gives the same error, after it has undone what the value has written.
      giveUp()
      throw error
    }
    let ended = frame
    guard let next = outer.popLast() else { throw GivesUp() }
    frame = next
    guard !hasGivenUp else { throw GivesUp() }
    return try end(ended)
  }

  private func end(_ ended: Frame) throws -> Outcome {
    guard let writer = unsafe writer else { throw GivesUp() }
    switch ended.content {
    case .omitted: return .omitted
    case .sentinel: return .computed
    case .value: return .written
    case .array:
      if let array = ended.array { unsafe writer.pointee.end(array) }
      arrayDepth -= 1
      return .written
    case .empty, .map:
      guard !ended.isDocument else { return .written }
      // A value that encodes nothing becomes an empty map.
      let map = unsafe ended.map ?? writer.pointee.beginMap()
      if ended.hasComputedField {
        guard endComputedFields(of: ended.serial, in: map) else { return try refuse() }
        if unsafe writer.pointee.isEmpty(map) {
          unsafe writer.pointee.cancel(map)
          return .computed
        }
      }
      unsafe writer.pointee.end(map)
      return .written
    }
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(RecordMapContainer(self, beginMap()))
  }

  /// Returns the serial number of the frame.
  func beginMap() -> Int {
    switch frame.content {
    case .map: break
    case .empty:
      frame.content = .map
      if !frame.isDocument, let writer = unsafe writer { frame.map = unsafe writer.pointee.beginMap() }
    default: giveUp()
    }
    return frame.serial
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    switch frame.content {
    case .array: break
    // No document is an array, and no array contains another one directly.
    case .empty where !frame.isDocument && !frame.isElement:
      frame.content = .array
      if let writer = unsafe writer { frame.array = unsafe writer.pointee.beginArray() }
      arrayDepth += 1
    default: giveUp()
    }
    return RecordArrayContainer(self, frame.serial)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer {
    RecordSingleContainer(self, frame.serial)
  }

  /// A container that nothing reads, for values that hold several containers open.
  func abandonedEncoder() -> ValueEncoder {
    unsafe state.pointee.needsTree = true
    giveUp()
    return ValueEncoder(.unused)
  }

  // MARK: Fields

  /// Begins a field of the frame with this serial number. Nil if nothing must be written.
  @inline(__always)
  private func begin(_ name: String, _ serial: Int) -> UnsafeMutablePointer<RecordWriter>? {
    guard serial == frame.serial, !hasGivenUp, let writer = unsafe writer, let map = frame.map else {
      giveUp()
      return nil
    }
    if !context.computed.isEmpty, isComputed(name) { return nil }
    unsafe writer.pointee.field(name, in: map)
    return unsafe writer
  }

  /// Whether a field of the current frame is a field of the document that the commit computes.
  private func isComputed(_ name: String) -> Bool { frame.isDocument && context.computed.contain(name) }

  /// Leaves out the value of a field that the commit computes. Only times are left out without encoding them.
  /// Other values may be invalid, which the tree encoder finds out.
  private func skip<T: Encodable>(_ value: T, _ name: String) throws {
    guard !hasGivenUp, isComputed(name), Self.isValidTime(value) else { return try refuse() }
  }

  func encodeNil(_ name: String, _ serial: Int) { unsafe begin(name, serial)?.pointee.null() }

  func encode(_ value: String, _ name: String, in serial: Int) {
    unsafe begin(name, serial)?.pointee.string(value)
  }

  func encode(_ value: Int64, _ name: String, in serial: Int) {
    unsafe begin(name, serial)?.pointee.integer(value)
  }

  func encode(_ value: Bool, _ name: String, in serial: Int) {
    unsafe begin(name, serial)?.pointee.boolean(value)
  }

  func encode(_ value: Double, _ name: String, in serial: Int) throws {
    guard value.isFinite else { return try refuse() }
    unsafe begin(name, serial)?.pointee.double(value)
  }

  func encode<T: Encodable>(_ value: T, _ name: String, key: some CodingKey, in serial: Int) throws {
    guard let writer = unsafe begin(name, serial), let map = frame.map else { return try skip(value, name) }
    var outcome = Outcome.computed
    switch try unsafe leaf(value, name, to: writer) {
    case .written: return
    case .sentinel: break
    case .encodesItself: outcome = try encodeItself(value, name: name, key: key)
    }
    guard outcome != .written else { return }
    if outcome == .computed {
      // The writer checks only the names of fields that it writes.
      guard FieldCollector.isUserName(name) else { return try refuse() }
      frame.hasComputedField = true
      let owner = frame.isDocument ? 0 : frame.serial
      unsafe state.pointee.computedFields.append(ComputedField(frame: owner, name: name))
    }
    unsafe writer.pointee.dropField(in: map)
  }

  /// Forgets the computed fields of a map that ends. Returns false if one of them was encoded a second time:
  /// the last value of a field counts, and the tree encoder knows which one that is.
  private func endComputedFields(of owner: Int, in map: RecordWriter.OpenMap) -> Bool {
    guard let writer = unsafe writer else { return false }
    while let field = unsafe state.pointee.computedFields.last, field.frame == owner {
      unsafe state.pointee.computedFields.removeLast()
      let isTwice = unsafe state.pointee.computedFields.contains {
        $0.frame == owner && $0.name.isSameUTF8(as: field.name)
      }
      if unsafe isTwice || writer.pointee.hasField(field.name, in: map) { return false }
    }
    return true
  }

  // MARK: Elements

  @inline(__always)
  private func beginElement(_ serial: Int) -> UnsafeMutablePointer<RecordWriter>? {
    guard serial == frame.serial, !hasGivenUp, let writer = unsafe writer, let array = frame.array,
      unsafe writer.pointee.isWithinLimits
    else {
      giveUp()
      return nil
    }
    frame.elements += 1
    unsafe writer.pointee.element(in: array)
    return unsafe writer
  }

  func elementCount(_ serial: Int) -> Int { serial == frame.serial ? frame.elements : 0 }

  func encodeNilElement(_ serial: Int) { unsafe beginElement(serial)?.pointee.null() }

  func encodeElement<T: Encodable>(_ value: T, _ serial: Int) throws {
    let index = frame.elements
    guard let writer = unsafe beginElement(serial), let array = frame.array else { throw GivesUp() }
    guard case .encodesItself = try unsafe leaf(value, nil, to: writer) else { return }
    guard try encodeItself(value, name: nil, key: IndexKey(index)) == .omitted else { return }
    // An element that wants no field, such as a `@DocumentID`, is left out.
    unsafe writer.pointee.dropElement(in: array)
    frame.elements -= 1
  }

  // MARK: Single values

  func encodeNilSingle(_ serial: Int) {
    guard let writer = unsafe beginSingle(serial), !frame.isDocument else { return giveUp() }
    unsafe writer.pointee.null()
    frame.content = .value
  }

  func encodeSingle<T: Encodable>(_ value: T, _ serial: Int) throws {
    guard let writer = unsafe beginSingle(serial) else { throw GivesUp() }
    let (name, key) = (frame.name, frame.key)
    // Only a value that encodes itself as a map can be a document.
    if !frame.isDocument {
      switch try unsafe leaf(value, name, to: writer) {
      case .written:
        frame.content = .value
        return
      case .sentinel:
        frame.content = .sentinel
        return
      case .encodesItself: break
      }
    }
    // The value takes the place of this frame, also in the path.
    let isDocument = frame.isDocument
    frame.key = nil
    let outcome = try encodeItself(value, name: name, key: key, isDocument: isDocument)
    frame.key = key
    switch outcome {
    case .written: frame.content = isDocument ? .map : .value
    case .computed: frame.content = .sentinel
    case .omitted: frame.content = .omitted
    }
  }

  private func beginSingle(_ serial: Int) -> UnsafeMutablePointer<RecordWriter>? {
    guard serial == frame.serial, !hasGivenUp, frame.content == .empty, let writer = unsafe writer else {
      giveUp()
      return nil
    }
    return unsafe writer
  }

  /// Encodes nothing, because the value wants no field.
  func omit() {
    guard frame.content == .empty else { return giveUp() }
    frame.content = .omitted
  }

  /// Writes the value of a type of this module that is asked to encode itself.
  func write<T: Encodable>(value: T) {
    do { try encodeSingle(value, frame.serial) } catch { giveUp() }
  }

  /// Notes a sentinel as the value of the current field.
  func add(_ sentinel: FieldValue, _ name: String?) throws {
    guard let name, arrayDepth == 0 else { return try refuse() }
    // A value in the place of another one has the same name, which belongs to the path once.
    var names: [String] = []
    for frame in outer + [frame] where frame.content == .map && !frame.isDocument {
      if let name = frame.name { names.append(name) }
    }
    sentinels.append((names + [name], sentinel))
  }

  func refuse<Result>() throws -> Result {
    giveUp()
    throw GivesUp()
  }
}

/// The types whose values held several containers open, or used a super encoder, when they were encoded
/// first.
private enum TreeTypes {
  private static let types = Locked(Set<ObjectIdentifier>())
  private static let areAny = Atomic<Bool>(false)

  static func contain(_ type: ObjectIdentifier) -> Bool {
    areAny.load(ordering: .relaxed) && types.withLock { $0.contains(type) }
  }

  static func insert(_ type: ObjectIdentifier) {
    _ = types.withLock { $0.insert(type) }
    areAny.store(true, ordering: .relaxed)
  }
}

// Fills messages with random values.

package import DocumentStore
package import FirestoreWire

/// Sets about half of the fields of the messages that it visits.
package struct RandomFields: FieldVisitor {
  package var random: SeededRandom
  private var depth = 0

  private static let texts = [
    "", "a", "rooms/eros", "projects/p/databases/(default)", "Z\u{FC}rich", "e\u{301}", "\u{65E5}",
    "\u{1F600}",
    "\u{2028}", "\"\\/\u{8}\u{C}\n\r\t", "\0\u{1F}\u{7F}", String(repeating: "x", count: 130),
  ]
  private static let integers: [Int64] = [0, 1, -1, 127, 128, 16384, 1 << 53 + 1, .max, .min]
  private static let doubles = [
    0.0, -0.0, 0.1, 1e16, 100.0, -1.5, .leastNonzeroMagnitude, .greatestFiniteMagnitude, .nan, .infinity,
    -.infinity,
  ]

  package init(seed: UInt64) { random = SeededRandom(seed: seed) }

  package mutating func filled<Message: WireMessage>(_ type: Message.Type) throws(WireError) -> Message {
    var message = Message()
    try message.visit(&self)
    return message
  }

  // MARK: Random values

  private mutating func isSet() -> Bool { random.below(10) < (depth < 3 ? 6 : 2) }
  private mutating func count() -> Int { isSet() ? 1 + random.below(3) : 0 }
  private mutating func pick<Element>(_ elements: [Element]) -> Element {
    elements[random.below(elements.count)]
  }
  private mutating func text() -> String { pick(Self.texts) }

  private mutating func integer() -> Int64 {
    random.oneIn(2) ? pick(Self.integers) : Int64(bitPattern: random.next()) >> Int64(random.below(64))
  }

  private mutating func number() -> Double {
    random.oneIn(2) ? pick(Self.doubles) : Double(integer()) / 1000
  }

  private mutating func time(unit: Int) -> Wire.Timestamp {
    let range = StoredTimestamp.secondsRange
    let seconds = pick([0, -1, 951_782_400, range.lowerBound, range.upperBound, integer() >> 30])
    let nanos = pick([0, 1, random.below(1_000_000_000)]) / unit * unit
    return Wire.Timestamp(
      seconds: min(max(seconds, range.lowerBound), range.upperBound), nanos: Int32(nanos))
  }

  private mutating func storedMap() -> StoredMap {
    StoredMap((0..<count()).map { _ in (name: text() + "x", value: storedValue()) })
  }

  /// A random value. An array contains no arrays.
  private mutating func storedValue(isElement: Bool = false) -> StoredValue {
    depth += 1
    defer { depth -= 1 }
    switch random.below(depth < 5 ? 11 : 9) {
    case 0: return .null
    case 1: return .boolean(random.oneIn(2))
    case 2: return .integer(integer())
    case 3: return .double(number())
    case 4: return .timestamp(time(unit: 1000).stored ?? .epoch)
    case 5: return .string(text())
    case 6: return .bytes(random.bytes(random.below(6)))
    case 7:
      let path = DocumentPath(unchecked: ["rooms", pick(["a", "Z\u{FC}rich", "x y"])])
      return .reference(StoredReference(projectID: "p-1", databaseID: "(default)", path: path))
    case 8:
      let point = StoredGeoPoint(latitude: pick([0, -0.0, 90, 12.5]), longitude: pick([0, -180, 0.1]))
      return point.map(StoredValue.geoPoint) ?? .null
    case 9 where !isElement:
      return .array((0..<random.below(4)).map { _ in storedValue(isElement: true) })
    default: return .map(storedMap())
    }
  }
}

// MARK: The visitor

extension RandomFields {
  package mutating func string(_ number: Int32, _ name: String, in value: inout String) { value = text() }

  package mutating func string(_ number: Int32, _ name: String, in value: inout String?) {
    if isSet() { value = text() }
  }

  package mutating func bytes(_ number: Int32, _ name: String, in value: inout [UInt8]) {
    value = random.bytes(random.below(5))
  }

  package mutating func bytes(_ number: Int32, _ name: String, in value: inout [UInt8]?) {
    if isSet() { value = random.bytes(random.below(5)) }
  }

  package mutating func bool(_ number: Int32, _ name: String, in value: inout Bool) {
    value = random.oneIn(2)
  }

  package mutating func bool(_ number: Int32, _ name: String, in value: inout Bool?) {
    if isSet() { value = random.oneIn(2) }
  }

  package mutating func int32(_ number: Int32, _ name: String, in value: inout Int32) {
    value = Int32(truncatingIfNeeded: integer())
  }

  package mutating func int32(_ number: Int32, _ name: String, in value: inout Int32?) {
    if isSet() { value = Int32(truncatingIfNeeded: integer()) }
  }

  package mutating func int64(_ number: Int32, _ name: String, in value: inout Int64) { value = integer() }

  package mutating func double(_ number: Int32, _ name: String, in value: inout Double) {
    value = self.number()
  }

  package mutating func enumeration<Case: WireEnum>(_ number: Int32, _ name: String, in value: inout Case) {
    value = Case.allCases.randomElement(using: &random) ?? .unspecified
  }

  package mutating func enumeration<Case: WireEnum>(_ number: Int32, _ name: String, in value: inout Case?) {
    if isSet() { value = Case.allCases.randomElement(using: &random) }
  }

  package mutating func int32Value(_ number: Int32, _ name: String, in value: inout Int32?) {
    int32(number, name, in: &value)
  }

  package mutating func int64Value(_ number: Int32, _ name: String, in value: inout Int64?) {
    if isSet() { value = integer() }
  }

  /// Never NaN, because a message that contains it does not equal itself.
  package mutating func doubleValue(_ number: Int32, _ name: String, in value: inout Double?) {
    let new = self.number()
    if isSet(), !new.isNaN { value = new }
  }

  package mutating func timestamp(_ number: Int32, _ name: String, in value: inout Wire.Timestamp?) {
    if isSet() { value = time(unit: 1) }
  }

  package mutating func duration(_ number: Int32, _ name: String, in value: inout Wire.Duration?) {
    if isSet() { value = Wire.Duration(nanoseconds: random.next() >> UInt64(random.below(64))) }
  }

  package mutating func message<Message: WireMessage>(
    _ number: Int32, _ name: String, in value: inout Message?
  ) throws(WireError) {
    if isSet() { value = try nested() }
  }

  package mutating func strings(_ number: Int32, _ name: String, in values: inout [String]) {
    values = (0..<count()).map { _ in text() }
  }

  package mutating func int32s(_ number: Int32, _ name: String, in values: inout [Int32]) {
    values = (0..<count()).map { _ in Int32(truncatingIfNeeded: integer()) }
  }

  package mutating func messages<Message: WireMessage>(
    _ number: Int32, _ name: String, in values: inout [Message]
  ) throws(WireError) {
    values = []
    for _ in 0..<count() { values.append(try nested()) }
  }

  private mutating func nested<Message: WireMessage>() throws(WireError) -> Message {
    depth += 1
    defer { depth -= 1 }
    return try filled(Message.self)
  }

  package mutating func labels(_ number: Int32, _ name: String, in labels: inout Wire.Labels) {
    for _ in 0..<count() { labels[text()] = text() }
  }

  package mutating func value(_ number: Int32, _ name: String, in value: inout StoredValue?) {
    if isSet() { value = storedValue() }
  }

  package mutating func values(_ number: Int32, _ name: String, in values: inout [StoredValue]) {
    values = (0..<count()).map { _ in storedValue() }
  }

  package mutating func fields(_ number: Int32, _ name: String, in fields: inout StoredMap) {
    fields = storedMap()
  }

  package mutating func notes(of pipelineValues: inout [PipelineValue]) {}

  package mutating func replaceMember(with name: String) {}
}

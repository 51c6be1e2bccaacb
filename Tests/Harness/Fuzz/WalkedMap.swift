// All that the views of a map show: its names, and the result of each property and method of each value.
//
// A walk steps with a cursor or takes closures. A decoded map gives the expected results.

internal import DocumentStore

struct WalkedMap: Equatable {
  struct Field: Equatable {
    var name: [UInt8]
    /// The name as text; nil if its bytes are not UTF-8.
    var text: [UInt8]?
    var value: WalkedValue
  }

  var fields: [Field] = []
  var isWhole = true

  /// Steps through the document with cursors.
  init(stepping document: borrowing DocumentView) {
    var cursor = document.fields
    step(&cursor)
  }

  /// Passes closures to the document.
  init(visiting document: borrowing DocumentView) {
    var found: [Field] = []
    isWhole = document.forEachField { found.append(Field($0, WalkedValue($1, steps: false))) }
    fields = found
  }

  init(_ map: borrowing MapView, steps: Bool) {
    if steps {
      var cursor = map.fields
      step(&cursor)
    } else {
      var found: [Field] = []
      isWhole = map.forEachField { found.append(Field($0, WalkedValue($1, steps: false))) }
      fields = found
    }
  }

  private mutating func step(_ cursor: inout FieldCursor) {
    while let value = cursor.next() {
      let walked = WalkedValue(value, steps: true)
      fields.append(Field(cursor.name, walked))
    }
    isWhole = cursor.isWhole
    // At the end, and after damage, the cursor stays where it is.
    if cursor.next() != nil || cursor.isWhole != isWhole { fields = [] }
  }

  /// The expected walk over valid fields.
  init(_ map: StoredMap) {
    fields = map.entries.map { name, value in
      Field(name: Array(name.utf8), text: Array(name.utf8), value: WalkedValue(value))
    }
  }
}

extension WalkedMap.Field {
  fileprivate init(_ name: borrowing TextView, _ value: WalkedValue) {
    self.init(
      name: name.bytes.withUnsafeBytes { Array($0) }, text: name.string.map { Array($0.utf8) }, value: value)
  }
}

/// The results of the properties and methods of a value.
struct WalkedValue: Equatable {
  struct Elements: Equatable {
    var values: [WalkedValue] = []
    var isWhole = true
  }

  var kind: ValueView.Kind
  var isNull = false
  var boolean: Bool?
  var integer: Int64?
  var double: UInt64?
  var timestamp: StoredTimestamp?
  var text: [UInt8]?
  var string: [UInt8]?
  var bytes: [UInt8]?
  var map: [WalkedMap] = []
  var elements = Elements()

  init(_ value: borrowing ValueView, steps: Bool) {
    kind = value.kind
    isNull = value.isNull
    boolean = value.boolean
    integer = value.integer
    double = value.double?.bitPattern
    timestamp = value.timestamp
    text = value.withText { text in text.bytes.withUnsafeBytes { Array($0) } }
    string = (value.withText { $0.string } ?? nil).map { Array($0.utf8) }
    bytes = value.withBytes { bytes in bytes.withUnsafeBytes { Array($0) } }
    map = [value.withMap { WalkedMap($0, steps: steps) }].compactMap { $0 }
    var found: [WalkedValue] = []
    elements.isWhole = value.forEachElement { found.append(WalkedValue($0, steps: steps)) }
    elements.values = found
  }

  /// The expected results for a value.
  init(_ value: StoredValue) {
    kind = .null
    elements.isWhole = false
    switch value {
    case .null, .pendingTimestamp: isNull = true
    case .boolean(let flag): (kind, boolean) = (.boolean, flag)
    case .integer(let number): (kind, integer) = (.integer, number)
    case .double(let number): (kind, double) = (.double, number.bitPattern)
    case .timestamp(let time): (kind, timestamp) = (.timestamp, time)
    case .string(let string): (kind, text, self.string) = (.text, Array(string.utf8), Array(string.utf8))
    case .bytes(let bytes): (kind, self.bytes) = (.bytes, bytes)
    case .reference: kind = .reference
    case .geoPoint: kind = .geoPoint
    case .vector: kind = .vector
    case .array(let values): (kind, elements) = (.array, Elements(values: values.map(WalkedValue.init)))
    case .map(let fields): (kind, map) = (.map, [WalkedMap(fields)])
    }
  }
}

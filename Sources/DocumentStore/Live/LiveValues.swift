// Which views wait for a value.
//
// Nearly every value that is written is waited for by nobody, and a dictionary that is not in the processor's cache
// takes several looks into memory to say so. A table with few bits set says it with one.

/// Views by the bytes of the values that they wait for.
struct LiveValues {
  private var views: [RecordKey: [ObjectIdentifier: LiveView]] = [:]
  private var marks = Marks()

  var isEmpty: Bool { views.isEmpty }

  func count(at value: [UInt8]) -> Int { views[RecordKey(value)]?.count ?? 0 }

  func views(at value: [UInt8]) -> [ObjectIdentifier: LiveView]? {
    marks.mayHave(value) ? views[RecordKey(value)] : nil
  }

  mutating func insert(_ view: LiveView, at value: [UInt8]) {
    let key = RecordKey(value)
    if views[key] == nil, !marks.insert(value) { marks = Marks(views.keys.map(\.bytes) + [value]) }
    views[key, default: [:]][ObjectIdentifier(view)] = view
  }

  mutating func remove(_ view: LiveView, at value: [UInt8]) {
    let key = RecordKey(value)
    views[key]?[ObjectIdentifier(view)] = nil
    if views[key]?.isEmpty == true { views[key] = nil }
  }

  /// A bit for each value, and for some that are none.
  private struct Marks {
    private static var bitsForEach: Int { 16 }

    private var words: [UInt64] = []
    /// For so many more of them. What is removed leaves its bit, until all are set anew.
    private var room = 0

    init() {}

    init(_ values: [[UInt8]]) {
      var capacity = 64
      while capacity < 2 * values.count { capacity *= 2 }
      words = Array(repeating: 0, count: capacity * Self.bitsForEach / UInt64.bitWidth)
      room = capacity
      for value in values { insert(value) }
    }

    /// False if there is no room.
    @discardableResult
    mutating func insert(_ value: [UInt8]) -> Bool {
      guard room > 0 else { return false }
      room -= 1
      let (word, bit) = place(of: value)
      words[word] |= bit
      return true
    }

    func mayHave(_ value: [UInt8]) -> Bool {
      guard !words.isEmpty else { return false }
      let (word, bit) = place(of: value)
      return words[word] & bit != 0
    }

    /// Of whoever makes values for one place on purpose, a dictionary thinks better.
    private func place(of value: [UInt8]) -> (word: Int, bit: UInt64) {
      var number: UInt64 = 0xCBF2_9CE4_8422_2325
      for byte in value { number = (number ^ UInt64(byte)) &* 0x100_0000_01B3 }
      number ^= number >> 32
      return (Int(number >> 6) & (words.count - 1), 1 << (number & 63))
    }
  }
}

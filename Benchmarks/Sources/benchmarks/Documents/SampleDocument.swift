// What is written and read: made from a seed and a number, so that every engine gets the same.

import Foundation

/// The document of every workload: eleven fields, about 380 bytes as JSON.
///
/// Even numbers are users, `users/<id>`; each odd one is a post of the user before it, `users/<id>/posts/<id>`. Ids,
/// scores and moments are spread at random over their ranges and are unique, so that an ordered answer under a limit
/// is the same for every engine.
struct SampleDocument {
  enum Value {
    case text(String)
    case integer(Int)
    case real(Double)
    case boolean(Bool)
    case moment(Int)
    case list([Value])
    case map([Field])
  }

  struct Field {
    var name: String
    var value: Value

    init(_ name: String, _ value: Value) {
      self.name = name
      self.value = value
    }
  }

  static let towns = 50
  static let scores = 0.0..<65_536.0
  /// In microseconds since 1970, and the width of the range in which they lie.
  static let firstMoment = 1_700_000_000_000_000
  static let momentsWidth = 1 << 42

  let number: Int
  /// Which update of the score it is.
  var revision = 0

  init(_ number: Int, revision: Int = 0) {
    self.number = number
    self.revision = revision
  }

  var isPost: Bool { number % 2 == 1 }
  var collection: String { isPost ? "posts" : "users" }

  var segments: [String] {
    let user = ["users", Self.id(number & ~1)]
    return isPost ? user + ["posts", Self.id(number)] : user
  }

  var path: String { segments.joined(separator: "/") }
  var parent: String { segments.dropLast().joined(separator: "/") }

  /// With few digits, so that every text of it gives the same number again.
  var score: Double { Double((number &* 40_503_817 ^ revision &* 0x155_5555) & (1 << 26 - 1)) / 1024 }
  var moment: Int { Self.firstMoment + (number &* 0x9E37_79B1 & 0xFFFF_FFFF) << 10 }
  var town: String { "Town \(random(1) % UInt64(Self.towns))" }

  /// In the order of their names.
  var fields: [Field] {
    let address = [
      Field("city", .text(town)), Field("country", .text("Norway")),
      Field("street", .text("\(random(3) % 900) \(Self.word(random(4))) Street")),
      Field("zip", .text("\(10_000 + random(5) % 80_000)")),
    ]
    return [
      Field("active", .boolean(random(2) % 3 == 0)), Field("address", .map(address)),
      Field("age", .integer(18 + Int(random(6) % 70))), Field("bio", .text(bio)), Field("city", .text(town)),
      Field("createdAt", .moment(moment)), Field("email", .text("person\(number)@example.org")),
      Field("name", .text("\(Self.word(random(7))) \(Self.word(random(8)))")), Field("score", .real(score)),
      Field("tags", .list((9..<12).map { .text(Self.word(random($0))) })),
      Field("visits", .integer(Int(random(12) % 1000))),
    ]
  }

  /// The sum that every engine has to find: numbers without their fractions, of texts the length and the first byte.
  var weight: Int { fields.reduce(0) { $0 &+ Self.weight($1.value) } }

  private static func weight(_ value: Value) -> Int {
    switch value {
    case .text(let text): text.utf8.count &+ Int(text.utf8.first ?? 0)
    case .integer(let number), .moment(let number): number
    case .real(let number): Int(number)
    case .boolean(let flag): flag ? 1 : 0
    case .list(let values): values.reduce(0) { $0 &+ weight($1) }
    case .map(let fields): fields.reduce(0) { $0 &+ weight($1.value) }
    }
  }

  private var bio: String {
    var bits = random(13)
    var words: [String] = []
    for _ in 0..<12 {
      words.append(Self.word(bits))
      bits >>= 5
    }
    return "Writes about \(words.joined(separator: " "))."
  }

  // MARK: Randomness

  private func random(_ purpose: Int) -> UInt64 { Self.mixed(UInt64(number * 16 + purpose)) }

  /// Twenty letters and digits.
  private static func id(_ number: Int) -> String {
    var text: [UInt8] = []
    for half in 0..<2 {
      var bits = mixed(UInt64(number * 2 + half) ^ 0x1D1D_1D1D_0000_0000)
      for _ in 0..<10 {
        text.append(letters[Int(bits % UInt64(letters.count))])
        bits /= UInt64(letters.count)
      }
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// A step of SplitMix64, with the seed of all benchmarks.
  static func mixed(_ number: UInt64) -> UInt64 {
    var bits = number &* 0x9E37_79B9_7F4A_7C15 &+ 20_240_601
    bits = (bits ^ bits >> 30) &* 0xBF58_476D_1CE4_E5B9
    bits = (bits ^ bits >> 27) &* 0x94D0_49BB_1331_11EB
    return bits ^ bits >> 31
  }

  private static func word(_ bits: UInt64) -> String { words[Int(bits % UInt64(words.count))] }

  private static let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)

  private static let words = [
    "anchor", "bay", "breeze", "bridge", "canvas", "cliff", "cloud", "coast", "compass", "coral", "current",
    "deck", "dune", "ferry", "fog", "gale", "glacier", "gull", "harbour", "horizon", "island", "keel",
    "lantern",
    "lighthouse", "mast", "meadow", "mist", "north", "oar", "pier", "rain", "river", "rope", "rudder", "sail",
    "salt", "sand", "seal", "shore", "skerry", "sky", "snow", "storm", "strait", "summer", "sun", "swell",
    "tide",
    "timber", "trawler", "valley", "vessel", "village", "voyage", "wake", "water", "wave", "weather", "whale",
    "wharf", "wheel", "wind", "winter", "yard",
  ]
}

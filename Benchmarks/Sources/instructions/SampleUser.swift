// The sample document in the forms that an app would use.

import FirebaseFirestore
import SampleDocuments

/// The sample document as an app would declare it. `SampleFields` of the benchmarks has the same fields, but
/// it is generic. Decoding a generic struct takes more instructions, which are not the decoder's own.
struct SampleUser: Codable {
  struct Address: Codable, Equatable {
    var city: String
    var country: String
    var street: String
    var zip: String
  }

  var active: Bool
  var address: Address
  var age: Int
  var bio: String
  var city: String
  var createdAt: Timestamp
  var email: String
  var name: String
  var score: Double
  var tags: [String]
  var visits: Int
}

extension SampleDocument {
  var dictionary: [String: Any] {
    Dictionary(uniqueKeysWithValues: fields.map { ($0.name, Self.dictionaryValue($0.value)) })
  }

  private static func dictionaryValue(_ value: Value) -> Any {
    switch value {
    case .text(let text): text
    case .integer(let number): number
    case .real(let number): number
    case .boolean(let flag): flag
    case .timestamp(let microseconds):
      Timestamp(
        seconds: Int64(microseconds / 1_000_000), nanoseconds: Int32(microseconds % 1_000_000 * 1000))
    case .list(let values): values.map { dictionaryValue($0) }
    case .map(let fields):
      Dictionary(uniqueKeysWithValues: fields.map { ($0.name, dictionaryValue($0.value)) })
    }
  }
}

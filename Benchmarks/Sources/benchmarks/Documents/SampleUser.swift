// The sample document as a type that an app would declare.

import FirebaseFirestore

/// The sample document as a Codable struct. Its creation time is a `Timestamp` in Firestore, and a number in
/// JSON.
struct SampleFields<Time: Codable>: Codable {
  struct Address: Codable {
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
  var createdAt: Time
  var email: String
  var name: String
  var score: Double
  var tags: [String]
  var visits: Int

  /// The document's `SampleDocument.weight`.
  func weight(_ microseconds: (Time) -> Int) -> Int {
    let texts =
      [address.city, address.country, address.street, address.zip, bio, city, email, name] + tags
    return texts.reduce(0) { $0 &+ $1.utf8.count &+ Int($1.utf8.first ?? 0) } &+ (active ? 1 : 0) &+ age
      &+ microseconds(createdAt) &+ Int(score) &+ visits
  }
}

extension Timestamp {
  var microseconds: Int { Int(seconds) * 1_000_000 + Int(nanoseconds) / 1000 }
}

enum SampleFieldsOfAny {
  /// Returns the weight of a dictionary.
  static func weight(_ value: Any) -> Int {
    switch value {
    case let map as [String: Any]: map.values.reduce(0) { $0 &+ weight($1) }
    case let list as [Any]: list.reduce(0) { $0 &+ weight($1) }
    case let text as String: text.utf8.count &+ Int(text.utf8.first ?? 0)
    case let timestamp as Timestamp: timestamp.microseconds
    case let number as NSNumber: Int(number.doubleValue)
    default: 0
    }
  }
}

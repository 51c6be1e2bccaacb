// The suite of the Pring tests. The tests run one after another, because collections belong to the default
// app and a process has only one default app.

import FirebaseFirestore
import FirebaseStorage
import Foundation
import Harness
import Testing

@testable import Pring

@Suite(.serialized, .timeLimit(.minutes(5)), .defaultApp) enum PringTests {}

/// Runs the suite before or after tests of other modules that also need the default app.
struct DefaultAppTrait: SuiteTrait, TestScoping {
  func provideScope(
    for test: Test, testCase: Test.Case?, performing body: @Sendable () async throws -> Void
  ) async throws { try await AsyncMutex.defaultApp.during(body) }
}

extension Trait where Self == DefaultAppTrait {
  static var defaultApp: Self { DefaultAppTrait() }
}

/// Returns the stored fields of a document, or nil if the document does not exist.
func fields(_ path: String) async throws -> [String: Any]? {
  try await Firestore.firestore().document(path).getDocument().data()
}

func fields(_ object: Object) async throws -> [String: Any]? { try await fields(object.path) }

func bytes(_ path: String) async -> Data? {
  try? await Storage.storage().reference(withPath: path).data(maxSize: 1 << 20)
}

// MARK: Classes

/// A class with a property of every type in the documented table of types.
class Everything: Object {
  enum Kind: Int { case first, second }

  var text = "text"
  var note: String?
  var count = 1
  var small: Int8 = 2
  var large: UInt32 = 3
  var maybe: Int? = 4
  var ratio = 0.5
  var single: Float = 0.25
  var flag = true
  var maybeFlag: Bool?
  var bytes = Data([1, 2])
  var date = Date(timeIntervalSince1970: 10)
  var time = Timestamp(seconds: 20, nanoseconds: 0)
  var point = GeoPoint(latitude: 1, longitude: 2)
  var target: DocumentReference?
  var link = URL(string: "https://example.org/a?b=c")!
  var tags: Set<String> = ["a"]
  var numbers: Set<Int> = [7]
  var names = ["x", "y"]
  var doubles = [1.0, 2.5]
  var flags = [true, false]
  var dates = [Date(timeIntervalSince1970: 1)]
  var anything: [Any] = ["a", 1]
  var map: [String: Any] = ["a": 1, "b": ["c": true]]
  var maps: [[String: Any]] = [["a": 1]]
  var counts = ["a": 1]
  var kind = Kind.first
  var hidden = "hidden"

  override var ignore: [String] { ["hidden"] }

  override func encode(_ key: String, value: Any?) -> Any? {
    key == "kind" ? kind.rawValue : nil
  }

  override func decode(_ key: String, value: Any?) -> Bool {
    guard key == "kind", let number = value as? Int, let kind = Kind(rawValue: number) else { return false }
    self.kind = kind
    return true
  }
}

/// A class that encodes some of its properties itself.
final class Coded: Object {
  enum Kind: Int { case first, second }
  enum Status: Int { case found = 200, missing = 404 }
  enum Mood: String, CaseIterable { case good, bad }
  enum Shape: Equatable { case circle(Double), square }

  var text = "text"
  var kind = Kind.first
  var other = Kind.first
  var status: Status?
  @Field var mood = Mood.good
  var shape = Shape.square

  var computed: Kind { .second }

  override func encode(_ key: String, value: Any?) -> Any? {
    switch key {
    case "kind": kind.rawValue
    case "other": other.rawValue
    case "status": status?.rawValue
    case "mood": mood.rawValue
    case "shape": "\(shape)"
    default: nil
    }
  }
}

class Item: Object {
  var name: String?
  var price = 0.0
  var tags: Set<String> = []
}

final class BetterItem: Item {
  var stars = 1
}

class Member: Object {
  override class var modelName: String { "members" }

  var name: String?
  var age = 0
  var picture: File?
  let friends: ReferenceCollection<Member> = []
}

class Room: Object {
  var title = ""
  var cover: File?
  var pages: [File] = []
  let items: NestedCollection<Item> = []
  let members: ReferenceCollection<Member> = []
  let shelf: List<Item> = []
  let owner: Reference<Member> = .init()
  let guest: Relation<Member> = .init()
}

/// A class with plain collections.
class Crate: Object {
  let items: SubCollection<Item> = []
  let spares: SubCollection<Item> = [Item(id: "spare")]
  let tools: ToolBox = []
}

final class ToolBox: SubCollection<Item> {}

final class Crates: Object {
  let crates: NestedCollection<Crates> = []
}

final class Linked: Object {
  var name = ""
  let other: Reference<Linked> = .init()
}

/// A class whose links also store the fields of the linked object.
final class Copied: Object {
  override class var shouldBeReplicated: Bool { true }

  var name = ""
}

final class Album: Object {
  let songs: ReferenceCollection<Copied> = []
}

final class Address: Object {
  var city = ""
  var plan: File?
  var next: Address?
}

final class Shop: Object {
  var home = Address()
  var branch: Address?
}

final class Touched: Object {
  @Field var nick: String?
  @Field var score: Int?
  @Field var tags: [String] = []
  var plain = 0
}

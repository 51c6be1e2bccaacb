// Tests of properties that cannot be fields, and of how the layer reports these properties.

import FirebaseFirestore
import Foundation
import LayerHarness
import Testing

@testable import Pring

private final class Dim: Object {
  enum Kind { case bright, dark }

  var name = "n"
  var kind = Kind.bright
  var maybe: Kind?
  var known = Kind.dark
  var loose: [AnyHashable: Any] = ["a": 1]
  weak var neighbour: Item?
  weak var view: NSObject?
  lazy var words = [name]

  override var ignore: [String] { ["view"] }

  override func encode(_ key: String, value: Any?) -> Any? { key == "known" ? "dark" : nil }
}

extension PringTests {
  @Suite final class LeftOut {
    private let app = TestApp()

    #if DEBUG
    @Test func propertiesThatAreNotStoredAreLoggedOnceWithTheReason() async throws {
      let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        FirebaseApp.configure(
          options: FirebaseOptions(directory: FileManager.default.temporaryDirectory))
        for id in ["a", "b"] { Firestore.firestore().batch().add(.save, object: Dim(id: id)) }
      }
      let lines = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self).split(separator: "\n")
        .filter { $0.hasPrefix("[Pring]") }
      #expect(lines.count == 3)
      let expected = [("neighbour", "it is weak"), ("words", "it is lazy"), ("kind", "a Kind is stored")]
      var wrong: [String] = []
      for (name, reason) in expected {
        let isLogged = lines.contains { $0.contains("Dim.\(name) is not stored") && $0.contains(reason) }
        if !isLogged { wrong.append(name) }
      }
      #expect(wrong == [])
    }
    #endif

    @Test func allStorablePropertiesAreStored() {
      #expect(Set(Dim().rawValue.keys) == ["name", "known", "loose"])
      let read = Dim(id: "a", value: ["loose": ["b": 2], "kind": "x", "words": ["y"], "neighbour": "z"])
      #expect(read.loose["b"] as? Int == 2 && read.kind == .bright && read.words == ["n"])
    }
  }
}

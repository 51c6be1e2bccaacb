// Field lookups that use recorded positions.

import ByteStore
import Harness
import Testing

@testable import DocumentStore

@Suite("Fields of a record, one after the other")
struct RecordFieldsTests {
  private static let names =
    (0..<40).map { "field\($0)" } + ["c\u{301}", "\u{107}", "", "a name that is longer than sixteen bytes"]

  /// Identifies types that look up fields. More types than a shape records orders for.
  private static let identities: [ObjectIdentifier] = [
    Int.self, Int8.self, Int16.self, Int32.self, Int64.self, UInt.self, UInt8.self, UInt16.self, UInt32.self,
    UInt64.self, Float.self, Double.self,
  ].map { (type: Any.Type) in ObjectIdentifier(type) }

  private func value(_ random: inout SeededRandom) -> StoredValue {
    switch random.below(6) {
    case 0: .string("text \(random.below(1000))")
    case 1: .integer(Int64(random.below(1 << 20)) - 1000)
    case 2: .double(Double(random.below(1000)) / 8)
    case 3: .boolean(random.oneIn(2))
    case 4: .map(StoredMap([("x", .integer(1))]))
    default: .null
    }
  }

  @Test("are found in whatever order types ask for them", arguments: [true, false])
  func fieldsAreFoundInAnyLookupOrder(haveOneShape: Bool) throws {
    let store = try DocumentStore.openInMemory()
    var random = SeededRandom(seed: 11)
    // Each type looks up a subset of the names in its own order. Some names are repeated, and some do not
    // exist. One type looks up few names.
    let types = [60, 300, 60, 5, 40, 41, 42, 43, 44, 45, 46, 47].map { count in
      (0..<count).flatMap { _ in
        let isMissing = random.oneIn(10)
        let name = isMissing ? "missing \(random.below(5))" : Self.names[random.below(Self.names.count)]
        return random.oneIn(8) ? [name, name] : [name]
      }
    }
    var shaped = 0
    var wrong: [String] = []
    for number in 0..<200 {
      let names = Self.names.filter { !$0.isEmpty && (haveOneShape || !random.oneIn(3)) }
      let fields = StoredMap(names.map { ($0, value(&random)) })
      let path = try DocumentPath(["things", "\(number)"])
      try store.commit([.set(path, fields)])
      guard case .record(let map)? = try store.storedRecord(at: path)?.fields else {
        wrong.append("\(path) was decoded")
        continue
      }
      if map.names != nil { shaped += 1 }
      let type = random.below(types.count)
      let found = RecordFields(map, for: Self.identities[type])
      for name in types[type] {
        let place = fields.entries.firstIndex { $0.name.isSameUTF8(as: name) }
        let value = place.map { fields.entries[$0].value }
        if random.below(5) == 0 {
          if found.position(of: name) != place { wrong.append("\(path): position of \(name)") }
          continue
        }
        let location = found.find(name)
        let areRight = [
          location.flatMap { found.string(at: $0) }.map(StoredValue.string)
            == value.flatMap { $0.isText ? $0 : nil },
          location.flatMap { found.integer(at: $0) }.map(StoredValue.integer)
            == value.flatMap { $0.isInteger ? $0 : nil },
          location.flatMap { found.double(at: $0) }.map(StoredValue.double)
            == value.flatMap { $0.isDouble ? $0 : nil },
          location.flatMap(\.boolean).map(StoredValue.boolean) == value.flatMap { $0.isBoolean ? $0 : nil },
          location.map { found.value(at: $0).stored } == value,
        ]
        if areRight.contains(false) { wrong.append("\(path): \(name), \(areRight)") }
      }
    }
    #expect(wrong == [])
    #expect(haveOneShape ? shaped > 190 : shaped < 50)
  }

  @Test("are found by many threads at once, by the first that learn and by those after them")
  func fieldsAreFoundByManyThreadsAtOnce() throws {
    let store = try DocumentStore.openInMemory()
    let names = Self.names.filter { !$0.isEmpty }
    var random = SeededRandom(seed: 12)
    for number in 0..<20 {
      let fields = StoredMap(names.map { ($0, StoredValue.integer(Int64(number))) })
      try store.commit([.set(DocumentPath(["things", "\(number)"]), fields)])
    }
    let orders = (0..<4).map { _ in names.shuffled(using: &random) }
    let wrong = Locked<[String]>([])
    let threads = zip(orders, Self.identities).map { order, type in
      WorkerThread {
        for number in 0..<400 {
          let path = DocumentPath(unchecked: ["things", "\(number % 20)"])
          guard case .record(let map)? = (try? store.storedRecord(at: path))?.fields else { continue }
          let fields = RecordFields(map, for: type)
          for name in order {
            let value = fields.find(name).flatMap { fields.integer(at: $0) }
            if value != Int64(number % 20) { wrong.withLock { $0.append(name) } }
          }
        }
      }
    }
    for thread in threads { thread.join() }
    #expect(wrong.withLock { $0 } == [])
  }
}

extension StoredValue {
  fileprivate var isText: Bool { if case .string = self { true } else { false } }
  fileprivate var isInteger: Bool { if case .integer = self { true } else { false } }
  fileprivate var isDouble: Bool { if case .double = self { true } else { false } }
  fileprivate var isBoolean: Bool { if case .boolean = self { true } else { false } }
}

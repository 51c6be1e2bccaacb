// Random writes to the store and to a model that follows the contract literally.
//
// The model is a nested dictionary, changed one path at a time. Both agree after each commit, each
// reopening and each power loss.

import ByteStore
import DocumentStore
import Harness
import Testing

@Suite struct MutationModelTests {
  @Test(arguments: Array(61...66) as [UInt64]) func randomWritesMatchTheModel(seed: UInt64) throws {
    var rng = SeededRNG(seed: seed)
    let clock = HandClock(1_700_000_000_000_000)
    var world = try World(seed: seed, clock)
    let paths = ["a", "b", "c"].map { path("docs", $0) }
    var model = Model()
    var statuses: [Status: Int] = [:]
    for step in 0..<250 {
      clock.set(1_700_000_000_000_000 + Int64(rng.roll(4000)) - 1000)
      let writes = (0..<(rng.oneIn(10) ? 0 : 1 + rng.roll(4))).map { _ in
        Write.any(paths, times: model.times, &rng)
      }
      let place: Comment = "seed \(seed), step \(step): \(writes)"
      let (expected, after) = model.committing(writes)
      let (found, time) = world.commit(writes)
      try #require(found == expected, place)
      statuses[found, default: 0] += 1
      model = try after(time.microseconds)
      if rng.oneIn(12) { try world.reopen(rng.oneIn(2) ? nil : rng.next()) }
      try #require(world.store.count == model.documents.count, place)
      for path in paths { try #require(try world.document(at: path) == model.documents[path], place) }
    }
    #expect(Status.allCases.filter { statuses[$0] == nil } == [], "these statuses never came up")
    try world.store.close()
  }
}

/// The result of a commit.
private enum Status: CaseIterable {
  case done, invalid, notFound, alreadyExists, failedPrecondition
}

// MARK: Writes

private typealias Name = [UInt8]
private typealias Fields = [Name: Plain]

/// A stored value, independent of the engine's map types.
private indirect enum Plain: Equatable {
  case integer(Int64)
  case double(Double)
  case list([Plain])
  case map(Fields)
  /// A value of a type that no rule in this model treats specially.
  case leaf(StoredValue)

  /// Compares by identity, as readers see it: NaN equals NaN, and 0.0 differs from -0.0.
  static func == (left: Plain, right: Plain) -> Bool {
    switch (left, right) {
    case (.integer(let left), .integer(let right)): left == right
    case (.double(let left), .double(let right)):
      left.isNaN ? right.isNaN : left == right && left.sign == right.sign
    case (.list(let left), .list(let right)): left == right
    case (.map(let left), .map(let right)): left == right
    case (.leaf(let left), .leaf(let right)): left == right
    default: false
    }
  }
}

/// Data as callers provide it.
private indirect enum Datum {
  case value(Plain)
  case map([(name: String, datum: Datum)])
  case delete
  case compute(FieldTransform.Operation)
}

private typealias Data = [(name: String, datum: Datum)]

private struct Write {
  enum Kind {
    case set(Data)
    case merge(Data)
    case mergeFields(Data, [[String]])
    case update([(field: [String], datum: Datum)])
    case delete
    case verify
  }

  var path: DocumentPath
  var kind: Kind
  var precondition = Precondition.none
}

// MARK: The model

private struct Expected: Equatable {
  var createTime: Int64
  var updateTime: Int64
  var fields: Fields
}

private struct Model {
  var documents: [DocumentPath: Expected] = [:]

  var times: [Int64] { documents.values.map(\.updateTime) }

  /// Returns the commit's status, and a function that takes the commit time and returns the resulting model.
  func committing(_ writes: [Write]) -> (Status, (Int64) throws -> Model) {
    let trial = applying(writes, at: .max)
    return (trial.status, { [self] in applying(writes, at: $0).model })
  }

  private func applying(_ writes: [Write], at time: Int64) -> (status: Status, model: Model) {
    // Invalid data is rejected before anything is applied.
    if writes.contains(where: \.isInvalid) { return (.invalid, self) }
    var model = self
    for write in writes {
      let status = model.apply(write, at: time)
      if status != .done { return (status, self) }
    }
    return (.done, model)
  }

  private mutating func apply(_ write: Write, at time: Int64) -> Status {
    let before = documents[write.path]
    switch write.precondition {
    case .none: break
    case .exists(true): if before == nil { return .notFound }
    case .exists(false): if before != nil { return .alreadyExists }
    case .updateTime(let required):
      if before?.updateTime != required.microseconds { return .failedPrecondition }
    }
    var fields = before?.fields ?? [:]
    switch write.kind {
    case .delete:
      documents[write.path] = nil
      return .done
    case .verify:
      return .done
    case .set(let data):
      if case .map(let replacement) = Datum.map(data).withoutSentinels { fields = replacement }
      for (field, operation) in transforms(of: data) { compute(operation, at: field, in: &fields, time) }
    case .merge(let data):
      merge(data, at: [], into: &fields)
      for (field, operation) in transforms(of: data) { compute(operation, at: field, in: &fields, time) }
    case .mergeFields(let data, let listed):
      // A path is redundant if it lies below another listed path.
      let listed = listed.filter { path in !listed.contains { $0.count < path.count && isPrefix($0, path) } }
      for path in listed {
        switch Datum.map(data).at(path[...]) {
        case .delete?: remove(path, from: &fields)
        case .compute?, nil: break
        case let datum?: put(datum.withoutSentinels, at: path, in: &fields)
        }
      }
      for (field, operation) in transforms(of: data) where listed.contains(where: { isPrefix($0, field) }) {
        compute(operation, at: field, in: &fields, time)
      }
    case .update(let changes):
      for (field, datum) in changes {
        switch datum {
        case .delete: remove(field, from: &fields)
        case .compute: break
        case .value, .map: put(datum.withoutSentinels, at: field, in: &fields)
        }
      }
      for (field, datum) in changes {
        for (below, operation) in datum.transforms {
          compute(operation, at: field + below, in: &fields, time)
        }
      }
    }
    let isSame = before?.fields == fields
    documents[write.path] = Expected(
      createTime: before?.createTime ?? time, updateTime: isSame ? before?.updateTime ?? time : time,
      fields: fields)
    return .done
  }

  private func merge(_ data: Data, at place: [String], into fields: inout Fields) {
    for (name, datum) in data {
      switch datum {
      case .value(let value): put(value, at: place + [name], in: &fields)
      case .map(let inner): merge(inner, at: place + [name], into: &fields)
      case .delete: remove(place + [name], from: &fields)
      case .compute: break
      }
    }
  }

  private func transforms(of data: Data) -> [(field: [String], operation: FieldTransform.Operation)] {
    Datum.map(data).transforms
  }

  // MARK: One path

  private func put(_ value: Plain, at path: [String], in fields: inout Fields) {
    let name = Array(path[0].utf8)
    guard path.count > 1 else {
      fields[name] = value
      return
    }
    var inner: Fields = [:]
    if case .map(let existing)? = fields[name] { inner = existing }
    put(value, at: Array(path.dropFirst()), in: &inner)
    fields[name] = .map(inner)
  }

  private func remove(_ path: [String], from fields: inout Fields) {
    let name = Array(path[0].utf8)
    if path.count == 1 {
      fields[name] = nil
    } else if case .map(var inner)? = fields[name] {
      remove(Array(path.dropFirst()), from: &inner)
      fields[name] = .map(inner)
    }
  }

  private func value(at path: [String], in fields: Fields) -> Plain? {
    let value = fields[Array(path[0].utf8)]
    if path.count == 1 { return value }
    guard case .map(let inner)? = value else { return nil }
    return self.value(at: Array(path.dropFirst()), in: inner)
  }

  private func compute(
    _ operation: FieldTransform.Operation, at path: [String], in fields: inout Fields, _ time: Int64
  ) {
    let stored = value(at: path, in: fields)
    var list: [Plain] = []
    if case .list(let elements)? = stored { list = elements }
    let result: Plain
    switch operation {
    case .serverTimestamp:
      result = .leaf(time == .max ? .string("not known yet") : .timestamp(timestamp(time)))
    case .increment(let number): result = sum(stored, Plain(number.value))
    case .minimum(let number): result = extreme(stored, Plain(number.value)) { isLess($1, $0) }
    case .maximum(let number): result = extreme(stored, Plain(number.value)) { isLess($0, $1) }
    case .arrayUnion(let elements):
      for element in elements.map(Plain.init) where !list.contains(where: { isEqual($0, element) }) {
        list.append(element)
      }
      result = .list(list)
    case .arrayRemove(let elements):
      for element in elements.map(Plain.init) { list.removeAll { isEqual($0, element) } }
      result = .list(list)
    }
    put(result, at: path, in: &fields)
  }

  // MARK: Numbers and equality

  private func sum(_ stored: Plain?, _ operand: Plain) -> Plain {
    switch (stored, operand) {
    case (.integer(let left)?, .integer(let right)):
      .integer(Int64(clamping: Int128(left) + Int128(right)))
    case (.integer(let left)?, .double(let right)): .double(Double(left) + right)
    case (.double(let left)?, .integer(let right)): .double(left + Double(right))
    case (.double(let left)?, .double(let right)): .double(left + right)
    default: operand
    }
  }

  private func extreme(
    _ stored: Plain?, _ operand: Plain, isBetter: (Plain, Plain) -> Bool
  ) -> Plain {
    guard let stored, stored.isNumber, !operand.isNaN else { return operand }
    return !stored.isNaN && isBetter(stored, operand) ? operand : stored
  }

  /// Compares two numbers other than NaN.
  private func isLess(_ left: Plain, _ right: Plain) -> Bool {
    switch (left, right) {
    case (.integer(let left), .integer(let right)): left < right
    case (.double(let left), .double(let right)): left < right
    case (.integer(let integer), .double(let double)):
      double >= 0x1p63 || (double >= -0x1p63 && isLess(integer, double.rounded(.down), double))
    case (.double(let double), .integer(let integer)):
      double < -0x1p63
        || (double < 0x1p63 && Int64(double.rounded(.up)) <= integer && !isWhole(double, integer))
    default: false
    }
  }

  private func isLess(_ integer: Int64, _ floor: Double, _ double: Double) -> Bool {
    integer < Int64(floor) || (integer == Int64(floor) && floor < double)
  }

  private func isWhole(_ double: Double, _ integer: Int64) -> Bool { Int64(exactly: double) == integer }

  private func isEqual(_ left: Plain, _ right: Plain) -> Bool {
    switch (left, right) {
    case (.integer(let integer), .double(let double)), (.double(let double), .integer(let integer)):
      isWhole(double, integer)
    case (.double(let left), .double(let right)): left == right || (left.isNaN && right.isNaN)
    case (.list(let left), .list(let right)): left.elementsEqual(right, by: isEqual)
    case (.map(let left), .map(let right)):
      left.count == right.count
        && left.allSatisfy { name, value in right[name].map { isEqual(value, $0) } ?? false }
    default: left == right
    }
  }
}

private func isPrefix(_ outer: [String], _ inner: [String]) -> Bool {
  outer.count <= inner.count && zip(outer, inner).allSatisfy { $0.utf8.elementsEqual($1.utf8) }
}

extension Plain {
  fileprivate var isNumber: Bool {
    switch self {
    case .integer, .double: true
    default: false
    }
  }

  fileprivate var isNaN: Bool {
    if case .double(let double) = self { double.isNaN } else { false }
  }

  fileprivate init(_ value: StoredValue) {
    switch value {
    case .integer(let integer): self = .integer(integer)
    case .double(let double): self = .double(double)
    case .array(let elements): self = .list(elements.map(Plain.init))
    case .map(let map): self = .map(Plain.fields(map))
    default: self = .leaf(value)
    }
  }

  fileprivate static func fields(_ map: StoredMap) -> Fields {
    Dictionary(uniqueKeysWithValues: map.entries.map { (Array($0.name.utf8), Plain($0.value)) })
  }

  fileprivate var stored: StoredValue {
    switch self {
    case .integer(let integer): .integer(integer)
    case .double(let double): .double(double)
    case .list(let elements): .array(elements.map(\.stored))
    case .map(let fields):
      .map(StoredMap(fields.map { (String(decoding: $0.key, as: UTF8.self), $0.value.stored) }))
    case .leaf(let value): value
    }
  }
}

extension Datum {
  /// The value that replaces a stored value. It leaves out deleted fields, and computed fields, which are
  /// added later.
  fileprivate var withoutSentinels: Plain {
    switch self {
    case .value(let value): return value
    case .delete, .compute: preconditionFailure("a sentinel has no value")
    case .map(let entries):
      var fields: Fields = [:]
      for (name, datum) in entries where !datum.isSentinel {
        fields[Array(name.utf8)] = datum.withoutSentinels
      }
      return .map(fields)
    }
  }

  fileprivate var isSentinel: Bool {
    switch self {
    case .value, .map: false
    case .delete, .compute: true
    }
  }

  fileprivate var transforms: [(field: [String], operation: FieldTransform.Operation)] {
    switch self {
    case .value, .delete: []
    case .compute(let operation): [([], operation)]
    case .map(let entries):
      entries.flatMap { name, datum in datum.transforms.map { ([name] + $0.field, $0.operation) } }
    }
  }

  fileprivate func at(_ path: ArraySlice<String>) -> Datum? {
    guard let name = path.first else { return self }
    switch self {
    case .map(let entries):
      return entries.first { $0.name.utf8.elementsEqual(name.utf8) }?.datum.at(path.dropFirst())
    case .value(.map(let fields)):
      return fields[Array(name.utf8)].flatMap { Datum.value($0).at(path.dropFirst()) }
    default: return nil
    }
  }
}

extension Write {
  fileprivate var isInvalid: Bool {
    switch kind {
    case .mergeFields(let data, let listed): listed.contains { Datum.map(data).at($0[...]) == nil }
    case .update(let changes):
      changes.indices.contains { one in
        changes.indices.contains { $0 != one && isPrefix(changes[one].field, changes[$0].field) }
      }
    case .set, .merge, .delete, .verify: false
    }
  }
}

// MARK: The store

/// A store on a simulated disk, and callers that split data as the API does.
private struct World {
  private let clock: HandClock
  private let seed: UInt64
  private var disk = SimulatedDisk()
  private(set) var store: DocumentStore

  init(seed: UInt64, _ clock: HandClock) throws {
    self.seed = seed
    self.clock = clock
    store = try Self.open(disk, seed, clock)
  }

  private static func open(_ disk: SimulatedDisk, _ seed: UInt64, _ clock: HandClock) throws -> DocumentStore
  {
    try DocumentStore.open(
      "/store", options: DocumentStore.Options(),
      platform: Platform(fileSystem: disk, clock: clock, random: SimulatedRandomSource(seed: seed)))
  }

  /// Closes the store cleanly or simulates a power loss, and opens it again.
  mutating func reopen(_ crash: UInt64?) throws {
    if let crash {
      disk = SimulatedDisk(disk.image(after: .powerLoss(.random, seed: crash)))
    } else {
      try store.close()
    }
    store = try Self.open(disk, seed ^ (crash ?? 1), clock)
  }

  func document(at path: DocumentPath) throws -> Expected? {
    try store.document(at: path).map {
      Expected(
        createTime: $0.createTime.microseconds, updateTime: $0.updateTime.microseconds,
        fields: Plain.fields($0.fields))
    }
  }

  /// Returns the status, and the commit time if the commit succeeded.
  func commit(_ writes: [Write]) -> (Status, StoredTimestamp) {
    do throws(DocumentStoreError) {
      var mutations: [Mutation] = []
      for write in writes { mutations.append(try mutation(write)) }
      return (.done, try store.commit(mutations))
    } catch {
      switch error {
      case .invalidArgument: return (.invalid, .first)
      case .notFound: return (.notFound, .first)
      case .alreadyExists: return (.alreadyExists, .first)
      case .failedPrecondition: return (.failedPrecondition, .first)
      default: preconditionFailure("\(error)")
      }
    }
  }

  private func mutation(_ write: Write) throws(DocumentStoreError) -> Mutation {
    let (path, precondition) = (write.path, write.precondition)
    switch write.kind {
    case .set(let data):
      let parts = Parts(data)
      return .set(path, parts.fields, transforms: parts.transforms, precondition: precondition)
    case .merge(let data):
      let parts = Parts(data)
      return .merge(path, parts.fields, deletions: parts.deletions, transforms: parts.transforms)
    case .mergeFields(let data, let listed):
      let parts = Parts(data)
      return try .merge(
        path, parts.fields, only: listed.map { StoredFieldPath(unchecked: $0) }, deletions: parts.deletions,
        transforms: parts.transforms)
    case .update(let changes):
      var nested: [FieldTransform] = []
      let changes = changes.map { field, datum -> (field: StoredFieldPath, change: Mutation.FieldChange) in
        let place = StoredFieldPath(unchecked: field)
        switch datum {
        case .value(let value): return (place, .set(value.stored))
        case .delete: return (place, .delete)
        case .compute(let operation): return (place, .compute(operation))
        case .map:
          nested += datum.transforms.map {
            FieldTransform(StoredFieldPath(unchecked: field + $0.field), $0.operation)
          }
          return (place, .set(datum.withoutSentinels.stored))
        }
      }
      return try .update(path, changes, transforms: nested, precondition: precondition)
    case .delete: return .delete(path, precondition: precondition)
    case .verify: return .verify(path, precondition)
    }
  }
}

/// A caller's data without its sentinels. Maps that contain only sentinels are left out.
private struct Parts {
  private(set) var fields = StoredMap()
  private(set) var deletions: [StoredFieldPath] = []
  private(set) var transforms: [FieldTransform] = []

  init(_ data: Data) { fields = take(data, at: []) }

  private mutating func take(_ data: Data, at place: [String]) -> StoredMap {
    var fields = StoredMap()
    for (name, datum) in data {
      switch datum {
      case .value(let value): fields[name] = value.stored
      case .delete: deletions.append(StoredFieldPath(unchecked: place + [name]))
      case .compute(let operation):
        transforms.append(FieldTransform(StoredFieldPath(unchecked: place + [name]), operation))
      case .map(let inner):
        let taken = take(inner, at: place + [name])
        if !taken.isEmpty { fields[name] = .map(taken) }
      }
    }
    return fields
  }
}

// MARK: Random generation

extension Write {
  private static let names = ["a", "b", "c", "\u{E9}", "e\u{301}", "a.b", "`"]

  fileprivate static func any(_ paths: [DocumentPath], times: [Int64], _ rng: inout SeededRNG) -> Write {
    var write = Write(path: rng.pick(paths), kind: kind(&rng))
    switch write.kind {
    case .merge, .mergeFields: break
    case .update:
      write.precondition = rng.oneIn(8) ? .none : .exists(true)
      if rng.oneIn(8) { write.precondition = precondition(times, &rng) }
    case .set, .delete: if rng.oneIn(4) { write.precondition = precondition(times, &rng) }
    case .verify: write.precondition = precondition(times, &rng)
    }
    return write
  }

  private static func precondition(_ times: [Int64], _ rng: inout SeededRNG) -> Precondition {
    switch rng.roll(4) {
    case 0: .exists(false)
    case 1: .exists(true)
    default: .updateTime(timestamp(times.isEmpty ? 5 : rng.pick(times)))
    }
  }

  private static func kind(_ rng: inout SeededRNG) -> Kind {
    switch rng.roll(14) {
    case 0, 1: .set(data(&rng, depthLeft: 3, deletions: false))
    case 2, 3, 4: .merge(data(&rng, depthLeft: 3, deletions: true))
    case 5, 6, 7: mergeFields(&rng)
    case 8, 9, 10, 11: .update(changes(&rng))
    case 12: .delete
    default: .verify
    }
  }

  private static func mergeFields(_ rng: inout SeededRNG) -> Kind {
    let data = data(&rng, depthLeft: 3, deletions: true)
    let places = Datum.map(data).places
    var listed = places.isEmpty ? [] : (0..<rng.roll(4)).map { _ in rng.pick(places) }
    if rng.oneIn(15) { listed.append([rng.pick(names), rng.pick(names)]) }
    return .mergeFields(data, listed)
  }

  private static func changes(_ rng: inout SeededRNG) -> [(field: [String], datum: Datum)] {
    let isCareless = rng.oneIn(15)
    var changes: [(field: [String], datum: Datum)] = []
    for _ in 0..<rng.roll(5) {
      let field = (0...rng.roll(3)).map { _ in rng.pick(names) }
      let overlaps = changes.contains { isPrefix($0.field, field) || isPrefix(field, $0.field) }
      if overlaps, !isCareless { continue }
      let datum = rng.oneIn(4) ? Datum.delete : datum(&rng, depthLeft: 2, deletions: false)
      changes.append((field, datum))
    }
    return changes
  }

  private static func data(_ rng: inout SeededRNG, depthLeft: Int, deletions: Bool) -> Data {
    var data: Data = []
    for _ in 0..<rng.roll(5) {
      let name = rng.pick(names)
      if data.contains(where: { $0.name.utf8.elementsEqual(name.utf8) }) { continue }
      data.append((name, datum(&rng, depthLeft: depthLeft, deletions: deletions)))
    }
    return data
  }

  private static func datum(_ rng: inout SeededRNG, depthLeft: Int, deletions: Bool) -> Datum {
    switch rng.roll(6) {
    case 0 where deletions: return .delete
    case 0, 1: return .compute(operation(&rng))
    case 2,
      3 where depthLeft > 0:
      let inner = data(&rng, depthLeft: depthLeft - 1, deletions: deletions)
      return inner.isEmpty ? .value(.map([:])) : .map(inner)
    default: return .value(value(&rng))
    }
  }

  private static func value(_ rng: inout SeededRNG) -> Plain {
    switch rng.roll(6) {
    case 0, 1, 2: Plain(number(&rng).value)
    case 3: .list((0..<rng.roll(5)).map { _ in element(&rng) })
    case 4: .map([:])
    default: .leaf(rng.pick([.null, .boolean(true), .string("x"), .vector([1]), .timestamp(.first)]))
    }
  }

  private static func element(_ rng: inout SeededRNG) -> Plain {
    switch rng.roll(6) {
    case 0: .map([[0x61]: Plain(number(&rng).value)])
    case 1: .map([[0x61]: .list([Plain(number(&rng).value)])])
    case 2: .leaf(rng.pick([.null, .string("\u{E9}"), .string("e\u{301}"), .vector([1]), .bytes([1])]))
    default: Plain(number(&rng).value)
    }
  }

  private static func number(_ rng: inout SeededRNG) -> StoredNumber {
    rng.oneIn(2)
      ? .integer(rng.pick([0, 1, 2, 3, -1, .max, .min, 1 << 53, (1 << 53) + 1]))
      : .double(rng.pick([0, -0.0, 1, 2, 1.5, -1.5, .nan, .infinity, 0x1p53, 0x1p63, -0x1p63]))
  }

  private static func operation(_ rng: inout SeededRNG) -> FieldTransform.Operation {
    switch rng.roll(6) {
    case 0: .serverTimestamp
    case 1: .increment(number(&rng))
    case 2: .minimum(number(&rng))
    case 3: .maximum(number(&rng))
    case 4: .arrayUnion((0..<rng.roll(5)).map { _ in element(&rng).stored })
    default: .arrayRemove((0..<rng.roll(4)).map { _ in element(&rng).stored })
    }
  }
}

extension Datum {
  /// The path of every value in the map.
  fileprivate var places: [[String]] {
    guard case .map(let entries) = self else { return [] }
    return entries.flatMap { name, datum in [[name]] + datum.places.map { [name] + $0 } }
  }
}

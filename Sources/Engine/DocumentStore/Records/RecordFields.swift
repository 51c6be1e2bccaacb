// Lookups in the fields of a map within a record, one after the other.
//
// A type asks for its fields in an order of its own, and always in that one; documents of a shape have their fields at
// the same places. So the first type that asks for half of a shape's fields leaves behind where it found each, and from
// then on that place is tried first: most lookups are one comparison. Otherwise the field behind the one that was found
// last is tried, and then it is bisected.

import ByteStore
import Synchronization

/// The names of a shape, and where a type found them.
final class FieldNames: Sendable {
  private final class Places: Sendable {
    /// Of the fields that were asked for, in that order.
    let places: [UInt8]

    init(_ places: [UInt8]) { self.places = places }
  }

  let names: [String]
  private let known = LazyReference<Places>()
  /// How many have set out to learn them.
  private let tries = Atomic<Int>(0)
  private static let triesMax = 8

  init(_ names: [String]) { self.names = names }

  fileprivate var places: [UInt8]? { known.load()?.places }

  /// Not for ever, where no type asks for enough.
  fileprivate var areToBeLearned: Bool {
    tries.load(ordering: .relaxed) < Self.triesMax
      && tries.add(1, ordering: .relaxed).oldValue < Self.triesMax
  }

  /// Stays as it is once it is known: other types are none the worse for it than without.
  fileprivate func learn(_ places: [UInt8]) {
    if 2 * places.count >= names.count { _ = known.storeIfNil(Places(places)) }
  }
}

/// For one thread at a time.
package final class RecordFields {
  package let map: RecordMap
  /// Where fields are that are asked for next, if they are asked for as they were when this was learned.
  private let places: [UInt8]?
  private var lookups = 0
  /// For others, if nobody has left any.
  private var own: [UInt8]?
  /// Behind the field that was found last.
  private var next = 0

  package init(_ map: RecordMap) {
    self.map = map
    places = map.names?.places
    if places == nil, let names = map.names, names.areToBeLearned { own = [] }
  }

  deinit { if let own { map.names?.learn(own) } }

  package func position(of name: String) -> Int? {
    guard let names = map.names?.names else { return search(name, map.compareName) }
    if let places, lookups < places.count {
      let place = Int(places[lookups])
      if names[place].isSameUTF8(as: name) {
        lookups += 1
        next = place + 1
        return place
      }
    }
    // Asked for once more, as something else: that is not among the places.
    if next > 0, names[next - 1].isSameUTF8(as: name) { return next - 1 }
    let found = search(name) { names[$0].comparedInUTF8(to: $1) }
    if let found { note(UInt8(truncatingIfNeeded: found)) }
    return found
  }

  private func note(_ place: UInt8) {
    // Goes on from there, if fields were left out.
    if let index = places?.firstIndex(of: place) { lookups = index + 1 }
    if let count = own?.count, count < Shape.namesMax { own?.append(place) }
  }

  private func search(_ name: String, _ compare: (Int, String) -> Int) -> Int? {
    let found = Self.place(among: map.count, after: next) { compare($0, name) }
    if let found { next = found + 1 }
    return found
  }

  /// Of so many names in order the one that `compare` finds equal; that at `next` and the one before it are tried first.
  package static func place(among count: Int, after next: Int, _ compare: (Int) -> Int) -> Int? {
    if next < count, compare(next) == 0 { return next }
    if next > 0, compare(next - 1) == 0 { return next - 1 }
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      let order = compare(middle)
      if order == 0 { return middle }
      if order < 0 { low = middle + 1 } else { high = middle }
    }
    return nil
  }

  // MARK: The types that most fields have

  // Each is nil unless the field is stored as just that.

  package func string(_ name: String) -> String? { payload(name, .string) { String(record: $0) } }

  package func integer(_ name: String) -> Int64? { payload(name, .integer) { $0.signed } }

  package func double(_ name: String) -> Double? {
    payload(name, .double) { Double(bitPattern: $0.doubleBits) }
  }

  package func boolean(_ name: String) -> Bool? { position(of: name).flatMap { map.value(at: $0).boolean } }

  @inline(__always)
  private func payload<Found>(_ name: String, _ tag: RecordCodec.Tag, _ body: (RawSpan) -> Found?) -> Found? {
    guard let position = position(of: name) else { return nil }
    return map.withValue(at: position) { value in
      value.byte(at: 0) == tag.rawValue ? body(value.extracting(droppingFirst: 1)) : nil
    }
  }
}

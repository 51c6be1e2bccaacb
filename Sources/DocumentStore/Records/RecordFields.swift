// Lookups in the fields of a map within a record, one after the other.
//
// A type asks for its fields in an order of its own, and always in that one; documents of a shape have their fields at
// the same places. So the place that was found last time comes first, and most lookups are one comparison. Otherwise
// the field behind the one that was found last is tried, then that one, and then it is bisected.

import ByteStore

/// The names of a shape, and where they were found when they were last asked for.
final class FieldNames: Sendable {
  let names: [String]
  /// Of a shape's fields, in the order of the lookups.
  private let places = Locked<[UInt8]>([])

  init(_ names: [String]) { self.names = names }

  fileprivate var lastPlaces: [UInt8] { places.withLock { $0 } }

  fileprivate func note(_ places: [UInt8]) { self.places.withLock { $0 = places } }
}

/// For one thread at a time.
package final class RecordFields {
  package let map: RecordMap
  /// Found by lookups of others, and as far as this has come, by its own.
  private var places: [UInt8]
  private var lookups = 0
  private var isNew = false
  /// Behind the field that was found last.
  private var next = 0

  package init(_ map: RecordMap) {
    self.map = map
    places = map.names?.lastPlaces ?? []
  }

  deinit { if isNew { map.names?.note(places) } }

  package func position(of name: String) -> Int? {
    guard let names = map.names?.names else { return search(name, map.compareName) }
    if lookups < places.count {
      let place = Int(places[lookups])
      if names[place].isSameUTF8(as: name) {
        lookups += 1
        next = place + 1
        return place
      }
    }
    let found = search(name) { names[$0].comparedInUTF8(to: $1) }
    if let found { note(UInt8(truncatingIfNeeded: found)) }
    return found
  }

  private func note(_ place: UInt8) {
    if lookups < places.count {
      places[lookups] = place
    } else if lookups < Shape.namesMax {
      places.append(place)
    } else {
      // Whoever asks more often asks for the same again.
      return
    }
    lookups += 1
    isNew = true
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

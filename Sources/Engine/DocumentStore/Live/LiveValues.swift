// Views that have a condition on an exact value.

/// Maps the index key of a value to the views that have a condition on this value.
struct LiveValues {
  private var views: [RecordKey: [ObjectIdentifier: LiveView]] = [:]

  var isEmpty: Bool { views.isEmpty }

  func count(at value: [UInt8]) -> Int { views[RecordKey(value)]?.count ?? 0 }

  func views(at value: [UInt8]) -> [ObjectIdentifier: LiveView]? { views[RecordKey(value)] }

  mutating func insert(_ view: LiveView, at value: [UInt8]) {
    views[RecordKey(value), default: [:]][ObjectIdentifier(view)] = view
  }

  mutating func remove(_ view: LiveView, at value: [UInt8]) {
    let key = RecordKey(value)
    views[key]?[ObjectIdentifier(view)] = nil
    if views[key]?.isEmpty == true { views[key] = nil }
  }
}

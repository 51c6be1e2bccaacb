// Which views a change may concern, found by the collection and by the values of the document, and not by asking each.

/// Where a view is found. One that is to be found elsewhere gets another place.
final class LivePlace {
  fileprivate let view: LiveView
  /// As they were chosen when it was put there.
  fileprivate var anchors: [LiveAnchor]?

  fileprivate init(_ view: LiveView) {
    self.view = view
    anchors = view.anchors
  }
}

struct LiveMatcher {
  /// Views of one collection, one collection group, or one document.
  fileprivate final class Scope {
    /// Found by every change.
    var all: [ObjectIdentifier: LiveView] = [:]
    var names: [RecordKey: [ObjectIdentifier: LiveView]] = [:]
    var equals: [StoredFieldPath: [RecordKey: [ObjectIdentifier: LiveView]]] = [:]
    var elements: [StoredFieldPath: [RecordKey: [ObjectIdentifier: LiveView]]] = [:]
    var ranges: [LiveRangeField: LiveRanges<LivePlace>] = [:]
    /// Ranges have come since the last change.
    var hasNewRanges = false
    var views: [ObjectIdentifier: LiveView] = [:]
  }

  private enum ScopeKey: Hashable {
    case collection(RecordKey)
    case group(RecordKey)
    case document(RecordKey)
  }

  private var scopes: [ScopeKey: Scope] = [:]
  private var groups = 0
  private var documents = 0

  // MARK: Views

  mutating func insert(_ view: LiveView) {
    let key = Self.key(of: view.run.scope)
    count(key, 1)
    let place = LivePlace(view)
    view.place = place
    let scope = scopes[key] ?? Scope()
    scopes[key] = scope
    scope.insert(place)
  }

  mutating func remove(_ view: LiveView) {
    let key = Self.key(of: view.run.scope)
    count(key, -1)
    if let place = view.place { scopes[key]?.remove(place) }
    view.place = nil
    if scopes[key]?.views.isEmpty == true { scopes[key] = nil }
  }

  /// What the view can be found by is another than it was.
  mutating func move(_ view: LiveView) {
    let key = Self.key(of: view.run.scope)
    if let place = view.place { scopes[key]?.remove(place) }
    let place = LivePlace(view)
    view.place = place
    scopes[key]?.insert(place)
  }

  private mutating func count(_ key: ScopeKey, _ more: Int) {
    switch key {
    case .collection: break
    case .group: groups += more
    case .document: documents += more
    }
  }

  private static func key(of scope: StructuredQuery.Scope) -> ScopeKey {
    switch scope {
    case .collection(let collection): .collection(RecordKey(DocumentKey.beginning(of: collection)))
    case .collectionGroup(let id): .group(RecordKey(Array(id.utf8)))
    case .document(let path): .document(RecordKey(DocumentKey.encode(path)))
    }
  }

  // MARK: Changes

  /// Each view that a change may concern, once. Most changes concern none.
  func views(concernedBy change: IndexChanges.Change) -> [LiveView] {
    var views: [LiveView] = []
    let beginning = DocumentKey.beginning(of: change.key, endingWith: change.path.id)
    find(.collection(RecordKey(Array(beginning))), change, &views)
    if groups > 0 { find(.group(RecordKey(Array(change.path.collectionID.utf8))), change, &views) }
    if documents > 0 { find(.document(RecordKey(change.key)), change, &views) }
    return views
  }

  private func find(_ key: ScopeKey, _ change: IndexChanges.Change, _ views: inout [LiveView]) {
    guard let scope = scopes[key] else { return }
    if scope.hasNewRanges { scope.settle() }
    let found = scope.views(concernedBy: change)
    if !found.isEmpty { views += found.values }
  }
}

extension LiveMatcher.Scope {
  fileprivate func settle() {
    for field in Array(ranges.keys) { ranges[field]?.settle() }
    hasNewRanges = false
  }

  fileprivate func insert(_ place: LivePlace) {
    let view = place.view
    let id = ObjectIdentifier(view)
    views[id] = view
    guard let anchors = place.anchors?.map(chosen) else { return all[id] = view }
    place.anchors = anchors
    for anchor in anchors {
      switch anchor {
      case .either: preconditionFailure("one of them was chosen")
      case .name(let name): names[RecordKey(name), default: [:]][id] = view
      case .equal(let field, let value):
        equals[field, default: [:]][RecordKey(value), default: [:]][id] = view
      case .element(let field, let value):
        elements[field, default: [:]][RecordKey(value), default: [:]][id] = view
      case .range(let field, let list):
        for range in list { ranges[field, default: LiveRanges()].insert(range, place) }
        hasNewRanges = true
      }
    }
  }

  /// By which fewest views are found now.
  private func chosen(_ anchor: LiveAnchor) -> LiveAnchor {
    guard case .either(let anchors) = anchor else { return anchor }
    return anchors.min { count(at: $0) < count(at: $1) } ?? anchor
  }

  private func count(at anchor: LiveAnchor) -> Int {
    switch anchor {
    case .name(let name): names[RecordKey(name)]?.count ?? 0
    case .equal(let field, let value): equals[field]?[RecordKey(value)]?.count ?? 0
    case .element(let field, let value): elements[field]?[RecordKey(value)]?.count ?? 0
    case .range, .either: views.count
    }
  }

  fileprivate func remove(_ place: LivePlace) {
    let id = ObjectIdentifier(place.view)
    views[id] = nil
    all[id] = nil
    for anchor in place.anchors ?? [] {
      switch anchor {
      case .either: break
      case .name(let name): names.remove(id, name)
      case .equal(let field, let value):
        equals[field]?.remove(id, value)
        if equals[field]?.isEmpty == true { equals[field] = nil }
      case .element(let field, let value):
        elements[field]?.remove(id, value)
        if elements[field]?.isEmpty == true { elements[field] = nil }
      case .range(let field, _):
        ranges[field]?.remove(place)
        if ranges[field]?.count == 0 { ranges[field] = nil }
      }
    }
  }

  fileprivate func views(concernedBy change: IndexChanges.Change) -> [ObjectIdentifier: LiveView] {
    var found = all
    if !names.isEmpty, let more = names[RecordKey(change.key)] { found.merge(more) { view, _ in view } }
    switch change.before {
    case .none: break
    case .document(let document): add(document, to: &found)
    // Its values are not known.
    case .unknown: return views
    }
    if let after = change.after { add(after, to: &found) }
    return found
  }

  private func add(_ document: StoredDocument, to found: inout [ObjectIdentifier: LiveView]) {
    for (field, values) in equals {
      guard let value = document.fields[field], let more = values[RecordKey(value.indexKey)] else { continue }
      found.merge(more) { view, _ in view }
    }
    for (field, values) in elements {
      guard case .array(let list) = document.fields[field] else { continue }
      for element in list {
        if let more = values[RecordKey(element.indexKey)] { found.merge(more) { view, _ in view } }
      }
    }
    for (field, ranges) in ranges {
      guard let value = field.value(in: document) else { continue }
      ranges.forEach(having: value.indexKey) { found[ObjectIdentifier($0.view)] = $0.view }
    }
  }
}

extension [RecordKey: [ObjectIdentifier: LiveView]] {
  fileprivate mutating func remove(_ id: ObjectIdentifier, _ bytes: [UInt8]) {
    let key = RecordKey(bytes)
    self[key]?[id] = nil
    if self[key]?.isEmpty == true { self[key] = nil }
  }
}

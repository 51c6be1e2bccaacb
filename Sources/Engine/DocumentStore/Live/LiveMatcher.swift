// Finds the views that may be concerned by a change, using the collection and the values of the document.

import ByteStore

/// The scope of a view as a hash key.
private enum LiveScopeKey: Hashable {
  case collection(RecordKey)
  case group(RecordKey)
  case document(RecordKey)

  init(_ scope: StructuredQuery.Scope) {
    switch scope {
    case .collection(let collection): self = .collection(RecordKey(DocumentKey.beginning(of: collection)))
    case .collectionGroup(let id): self = .group(RecordKey(Array(id.utf8)))
    case .document(let path): self = .document(RecordKey(DocumentKey.encode(path)))
    }
  }
}

/// The registration of a view in the matcher. A view whose anchors have changed gets a new registration.
final class LiveMatcherEntry {
  let view: LiveView
  /// The anchors that were chosen when the view was inserted.
  fileprivate var anchors: [LiveAnchor]?

  fileprivate init(_ view: LiveView) {
    self.view = view
    anchors = view.anchors
  }
}

struct LiveMatcher {
  /// Views of one collection, one collection group, or one document.
  fileprivate final class Scope {
    /// Views that may be concerned by every change in the scope.
    var all: [ObjectIdentifier: LiveView] = [:]
    var names: [RecordKey: [ObjectIdentifier: LiveView]] = [:]
    let fields = LiveField()
    /// Ranges of fields that have a value in every document: the document id, or a field that counts as null
    /// if it is missing.
    var nestedFields: [LiveRangeField: LiveRanges<LiveMatcherEntry>] = [:]
    var views: [ObjectIdentifier: LiveView] = [:]
  }

  private var scopes: [LiveScopeKey: Scope] = [:]
  /// The scope of the last change, because the next change is most often in the same collection.
  private var latest: (beginning: [UInt8], scope: Scope?)?
  /// Scratch space for the bytes of values.
  private var key: [UInt8] = []
  private var groups = 0
  private var documents = 0

  // MARK: Views

  mutating func insert(_ view: LiveView) {
    let key = LiveScopeKey(view.run.scope)
    count(key, 1)
    let place = LiveMatcherEntry(view)
    view.place = place
    let scope = scopes[key] ?? Scope()
    scopes[key] = scope
    scope.insert(place)
  }

  mutating func remove(_ view: LiveView) {
    let key = LiveScopeKey(view.run.scope)
    count(key, -1)
    if let place = view.place { scopes[key]?.remove(place) }
    view.place = nil
    if scopes[key]?.views.isEmpty == true { scopes[key] = nil }
  }

  /// Registers the view again after its anchors have changed.
  mutating func move(_ view: LiveView) {
    let key = LiveScopeKey(view.run.scope)
    if let place = view.place { scopes[key]?.remove(place) }
    let place = LiveMatcherEntry(view)
    view.place = place
    scopes[key]?.insert(place)
  }

  private mutating func count(_ key: LiveScopeKey, _ more: Int) {
    latest = nil
    switch key {
    case .collection: break
    case .group: groups += more
    case .document: documents += more
    }
  }

  // MARK: Changes

  /// Returns the views that the change may concern, each view once. Most changes concern no view.
  mutating func views(concernedBy change: IndexChanges.Change) -> [LiveView] {
    var views: [LiveView] = []
    if let scope = collection(of: change) { find(scope, change, views: &views) }
    if groups > 0, let scope = scopes[.group(RecordKey(Array(change.path.collectionID.utf8)))] {
      find(scope, change, views: &views)
    }
    if documents > 0, let scope = scopes[.document(RecordKey(change.key))] {
      find(scope, change, views: &views)
    }
    return views
  }

  private mutating func collection(of change: IndexChanges.Change) -> Scope? {
    let beginning = DocumentKey.beginning(of: change.key, endingWith: change.path.id)
    let bytes = change.key.rawSpan.extracting(first: beginning.count)
    if let latest, latest.beginning.rawSpan.isSame(as: bytes) {
      return latest.scope
    }
    let key = RecordKey(Array(beginning))
    let scope = scopes[.collection(key)]
    latest = (key.bytes, scope)
    return scope
  }

  private mutating func find(_ scope: Scope, _ change: IndexChanges.Change, views: inout [LiveView]) {
    let found = scope.views(concernedBy: change, &key)
    if !found.isEmpty { views += found.values }
  }
}

extension LiveMatcher.Scope {
  fileprivate func insert(_ place: LiveMatcherEntry) {
    let view = place.view
    let id = ObjectIdentifier(view)
    views[id] = view
    guard let anchors = place.anchors?.map(chosen) else { return all[id] = view }
    place.anchors = anchors
    for anchor in anchors {
      switch anchor {
      case .either: preconditionFailure("one of them was chosen")
      case .name(let name): names[RecordKey(name), default: [:]][id] = view
      case .equal(let path, let value): fields.fieldCreatingIfNeeded(at: path).values.insert(view, at: value)
      case .element(let path, let value):
        fields.fieldCreatingIfNeeded(at: path).elements.insert(view, at: value)
      case .range(let field, let list): for range in list { ranges(of: field).insert(range, place) }
      }
    }
  }

  /// Returns the ranges of a field. Creates them if the field has none.
  private func ranges(of field: LiveRangeField) -> LiveRanges<LiveMatcherEntry> {
    guard field.alwaysHasValue else { return fields.fieldCreatingIfNeeded(at: field.path).ranges }
    if let ranges = nestedFields[field] { return ranges }
    let ranges = LiveRanges<LiveMatcherEntry>()
    nestedFields[field] = ranges
    return ranges
  }

  /// Chooses the condition that currently has the fewest views.
  private func chosen(_ anchor: LiveAnchor) -> LiveAnchor {
    guard case .either(let anchors) = anchor else { return anchor }
    return anchors.min { count(at: $0) < count(at: $1) } ?? anchor
  }

  private func count(at anchor: LiveAnchor) -> Int {
    switch anchor {
    case .name(let name): names[RecordKey(name)]?.count ?? 0
    case .equal(let path, let value): fields[path]?.values.count(at: value) ?? 0
    case .element(let path, let value): fields[path]?.elements.count(at: value) ?? 0
    case .range, .either: views.count
    }
  }

  fileprivate func remove(_ place: LiveMatcherEntry) {
    let id = ObjectIdentifier(place.view)
    views[id] = nil
    all[id] = nil
    for anchor in place.anchors ?? [] {
      switch anchor {
      case .either: break
      case .name(let name): names.remove(id, name)
      case .equal(let path, let value):
        fields[path]?.values.remove(place.view, at: value)
        fields.trim(at: path)
      case .element(let path, let value):
        fields[path]?.elements.remove(place.view, at: value)
        fields.trim(at: path)
      case .range(let field, _) where field.alwaysHasValue:
        nestedFields[field]?.remove(place)
        if nestedFields[field]?.count == 0 { nestedFields[field] = nil }
      case .range(let field, _):
        fields[field.path]?.ranges.remove(place)
        fields.trim(at: field.path)
      }
    }
  }

  fileprivate func views(
    concernedBy change: IndexChanges.Change, _ key: inout [UInt8]
  ) -> [ObjectIdentifier: LiveView] {
    var found = all
    if !names.isEmpty, let more = names[RecordKey(change.key)] { found.merge(more) { view, _ in view } }
    switch change.before {
    case .none: break
    case .document(let document): add(document, &key, to: &found)
    // The previous values are unknown, so the change may concern every view.
    case .unknown: return views
    }
    if let after = change.after { add(after, &key, to: &found) }
    return found
  }

  private func add(
    _ document: StoredDocument, _ key: inout [UInt8], to found: inout [ObjectIdentifier: LiveView]
  ) {
    fields.find(in: document.fields, &key, found: &found)
    for (field, ranges) in nestedFields {
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

// Classes of an app whose tests use `@testable import StreamBaseKit`. They declare plain names, which
// would conflict with internal members of the layer's base classes if those had no prefix.

import FirebaseFirestore
import Foundation

@testable import StreamBaseKit

private class Message: BaseItem {
  var pendingTimes: [String] = []
  var pendingTime = Date()
  var estimates = 0
  var order = 0
  var document = ""
  var version = 1

  func take(_ document: DocumentSnapshot) {}

  override func update(_ dict: [String: Any]?) {
    super.update(dict)
    pendingTimes = dict?["times"] as? [String] ?? []
  }
}

private class Messages: StreamBase {
  var type = "chat"
  var source = ""
  var queue: [Message] = []
  var records: [String] = []
  var visible = true
  var pending = 0
  var departed: [Message] = []
  var changedInEvent = false
  var isEndingEvent = false
  var load = 0.0
  var loadIsDue = false
  var isAnnouncing = false
  var hasAnotherRound = false
  var isFetching = false
  var reach = 0
  var segments: [String] = []
  var segmentCount = 0
  var inflight = 0
  var timer: Timer?
  var frontier = ""
  var rowCount = 0
  var iterable: [Message] = []

  func reconsider() {}
  func applyPending() {}
  func batchIsDue() {}
  func endInitialLoad() {}
  func put(_ item: BaseItem) {}
  func accepts(_ item: BaseItem) -> Bool { visible }
  func item(atRow row: Int) -> BaseItem { self[row] }
  func finishLoad(_ error: NSError?) {}
  func receive(_ body: () -> Void) { body() }
  func checkInvariants() {}
}

private class Placeholders: TransientStream {
  var records: [String] = []
  var pending = 0
  var visible = true
}

private class Everything: UnionStream {
  var order = 0
  var sources: [String] = []
  var visible = true
  var pending = 0
  var load = 0
  var timer: Timer?
  var rowCount = 0
  var iterable = 0

  func item(atRow row: Int) -> BaseItem { self[row] }
  func checkInvariants() {}
}

private class Sections: PartitionedStream {
  var stream = ""
  var rows = 0
  var load = 0
  var rowsTouched = false

  func checkInvariants() {}
}

private class Builder: QueryBuilder {
  var order = 0
  var source = ""
  var ref = 1
}

private class Environment: ResourceBase {
  var counters: [String] = []
  var lanes: [String] = []
  var paths: [String] = []
  var registered = false
  var place = ""
  var requirement = ""

  func report(_ error: NSError?) { print(error as Any) }
  func isCounted(_ instance: any BaseItemProtocol) -> Bool { registered }
  func ownsCounters(_ instance: any BaseItemProtocol) -> Bool { registered }
}

private class Context: ResourceContext {
  var base = ""
  var parent = ""
  var resources: [String] = []
}

private class Items: KeyedArray<Message> {
  var places = 0
}

private class Adapter: StreamTableAdapter {
  var table = ""
  var section = 0
  var isLoaded = false
}

private class Recorder: StreamChangeRecorder {
  var deleted = 0
  var added = 0
}

private class Work: Inflight {
  var state = 0
}

/// Internal names of the original that its users' code refers to.
private func internals(_ builder: Builder) {
  let comparator: StreamBase.Comparator = builder.buildComparator()
  let query: Query = builder.buildQuery()
  let pager: StreamBase.QueryPager = builder.buildQueryPager()
  _ = (comparator, query, pager)
}

// Models of an app whose tests import Pring as `@testable`. The models' members have names that the layer
// uses internally.

import FirebaseFirestore
import Foundation

@testable import Pring

/// A class whose properties are all fields.
class Timetable: Object {
  dynamic var schema: String = "weekly"
  dynamic var times: [String] = ["9:00"]
  dynamic var tracking: Bool = true
  dynamic var activeProperties: [String] = ["a"]
  dynamic var files: [File] = []
  dynamic var savedFiles: Int = 1
  dynamic var storedFiles: Int = 2
  dynamic var noteFiles: Int = 3
  dynamic var place: String = "room 1"
  dynamic var read: Bool = false
  dynamic var notes: [String] = ["n"]
  dynamic var flights: [String] = ["f"]
  dynamic var stored: Int = 4
  dynamic var encoded: Int = 5
  dynamic var unwrapped: Int = 6
  dynamic var children: [String] = ["c"]
  dynamic var remembered: Int = 7
  dynamic var owed: Int = 8
  dynamic var members: [String] = ["m"]
  dynamic var pending: Int = 9
  dynamic var lastPlace: String = "room 0"
  dynamic var field: String = "maths"
  dynamic var refusal: String = "r"
  dynamic var packing: Int = 10
  dynamic var companion: String = "x"
  let entries: EntryCollection = []

  func remember() { remembered += 1 }
  func adoptChildren() { remembered += 1 }
  func takeFields(_ fields: [String: Any]) { remembered += 1 }
  func takeOff() { remembered += 1 }
  func takeOffWhole() { remembered += 1 }
  func land(_ flight: InFlightWrite, _ error: (any Error)?) { remembered += 1 }
  func stored(_ property: Property) -> Any? { nil }
  func encoded(_ property: Property) -> Any? { nil }
  func collectFiles(into container: UploadContainer, _ prefix: String) { remembered += 1 }
  func tellWhatIsLeftOut(of fields: [String: Any]) { remembered += 1 }
  static func unwrapped(_ value: Any) -> Any? { nil }
}

class Entry: Object {
  dynamic var text: String = ""
}

final class EntryCollection: SubCollection<Entry> {
  enum Action { case insert }
  enum PendingAction { case insert }

  var members: [String] = ["own"]
  var pending: [String] = ["own"]
  var lastPlace: String? = "own"
  var writtenMembers: [String] = ["own"]
  var writtenObjects: [String] = ["own"]

  func attach(_ member: Entry) { preconditionFailure() }
  func release(_ member: Entry) { preconditionFailure() }
  func packMember(_ member: Entry, _ type: BatchType, _ batch: WriteBatch) { preconditionFailure() }
  func packRemoval(_ id: String, _ member: Entry?, hard: Bool, _ batch: WriteBatch) { preconditionFailure() }
  func remove(_ id: String, hard: Bool, _ member: Entry?) { preconditionFailure() }
}

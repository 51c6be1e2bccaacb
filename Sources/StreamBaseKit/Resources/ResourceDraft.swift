// What a write brings, as it was when the write was asked for.

import FirebaseFirestore
import Foundation

struct ResourceDraft {
  private let dict: [String: Any]
  private let counted: Set<Int>
  /// Fields with times that the remote has still to set, for which the item has only this machine's time. That is not
  /// to be written over them.
  let estimates: Set<String>
  /// What no document can hold is told when it is to be written.
  let fields: Result<EncodedFields, UserDataError>

  init(_ base: ResourceBase, _ instance: any BaseItemProtocol) {
    let dict = instance.dict
    let estimates = (instance as? BaseItem)?.estimates(in: dict, base.firebase) ?? []
    self.init(base, instance, dict, estimates, instance)
  }

  /// `counted` is the item whose fields the counters are asked about.
  private init(
    _ base: ResourceBase, _ instance: any BaseItemProtocol, _ dict: [String: Any],
    _ estimates: Set<String>, _ counted: any BaseItemProtocol
  ) {
    self.dict = dict
    self.estimates = estimates
    self.counted = Set(
      base.counters.filter { instance.isInstance(of: $0.counted) && $0.counts(counted) }.map(\.id))
    do throws(UserDataError) {
      fields = .success(try UserData.fields(from: dict, in: base.firebase))
    } catch {
      fields = .failure(error)
    }
  }

  func counts(_ counter: ResourceCounter) -> Bool { counted.contains(counter.id) }

  /// What an update writes.
  var names: Set<String> { Set(dict.keys).subtracting(estimates) }

  /// Leaves fields of what is stored to those who wrote them.
  func without(
    _ names: Set<String>, over stored: DocumentSnapshot, _ base: ResourceBase,
    _ instance: any BaseItemProtocol
  ) -> ResourceDraft {
    let rest = dict.filter { !names.contains($0.key) }
    var merged = stored.data() ?? [:]
    for (name, value) in rest { merged[name] = value is NSNull ? nil : value }
    let item = instance.clone()
    item.update(merged)
    return ResourceDraft(base, instance, rest, estimates, item)
  }
}

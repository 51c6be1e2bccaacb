// What a write brings, as it was when the write was asked for.

import FirebaseFirestore
import Foundation

struct ResourceDraft {
  private var dict: [String: Any]
  private var counted: Set<Int>
  /// Fields with times that the remote has still to set, for which the item has only this machine's time.
  /// That is not to be written over them.
  let estimates: Set<String>
  /// What no document can hold is told when it is to be written.
  private(set) var fields: Result<EncodedFields, UserDataError>

  init(_ base: ResourceBase, _ instance: any BaseItemProtocol) {
    let dict = instance.dict
    let fields = Self.fields(dict, base)
    var counted: (any BaseItemProtocol)?
    if case .success(let written) = fields, written.isComputed {
      counted = Self.item(instance, base, written, over: nil)
    }
    self.dict = dict
    self.fields = fields
    estimates = (instance as? BaseItem)?.kitEstimates(in: dict, base.firebase) ?? []
    self.counted = Self.counted(base, instance, as: counted)
  }

  private static func fields(
    _ dict: [String: Any], _ base: ResourceBase
  ) -> Result<EncodedFields, UserDataError> {
    Result { () throws(UserDataError) in try UserData.fields(from: dict, in: base.firebase) }
  }

  func counts(_ counter: ResourceCounter) -> Bool { counted.contains(counter.id) }

  /// What an update writes.
  var names: Set<String> { Set(dict.keys).subtracting(estimates) }

  /// What an update of `stored` writes. Leaves these of its fields to those who wrote them.
  func over(
    _ stored: DocumentSnapshot, without names: Set<String>, _ base: ResourceBase,
    _ instance: any BaseItemProtocol
  ) -> ResourceDraft {
    var rest = self
    if !names.isEmpty {
      rest.dict = dict.filter { !names.contains($0.key) }
      rest.fields = Self.fields(rest.dict, base)
    }
    guard case .success(var written) = rest.fields, !names.isEmpty || written.isComputed else { return rest }
    for name in estimates { written.leaveOut(name) }
    let item = Self.item(instance, base, written, over: stored)
    rest.counted = Self.counted(base, instance, as: item)
    return rest
  }

  // MARK: Counters

  /// Which counters count the item, or another one with the fields that it will have.
  private static func counted(
    _ base: ResourceBase, _ instance: any BaseItemProtocol, as other: (any BaseItemProtocol)?
  ) -> Set<Int> {
    let counting = base.kitCounters.filter { instance.isInstance(of: $0.counted) }
    return Set(counting.filter { $0.counts(other ?? instance) }.map(\.id))
  }

  /// As it is read once it is written; nil if nobody asks what it has.
  private static func item(
    _ instance: any BaseItemProtocol, _ base: ResourceBase, _ fields: EncodedFields,
    over stored: DocumentSnapshot?
  ) -> (any BaseItemProtocol)? {
    guard base.kitIsCountedByPredicate(instance),
      let fields = fields.replaced(over: stored, in: base.firebase)
    else { return nil }
    let item = instance.clone()
    item.update(fields)
    return item
  }
}

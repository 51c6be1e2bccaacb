// The fields of a write, captured when the hook before the write is done.

import FirebaseFirestore
import Foundation

struct ResourceDraft {
  private var dict: [String: Any]
  private var counted: Set<Int>
  /// Names of fields with pending server timestamps. The item contains only the local estimates of these
  /// timestamps, so the write must not replace them.
  let estimates: Set<String>
  /// The encoded fields. If a value cannot be stored in a document, this is an error, which is reported when
  /// the fields are written.
  private(set) var fields: Result<EncodedFields, UserDataError>

  init(_ base: ResourceBase, _ instance: any BaseItemProtocol) {
    let dict = instance.dict
    let fields = Self.fields(dict, base)
    var counted: (any BaseItemProtocol)?
    if case .success(let written) = fields, written.isComputed {
      counted = Self.item(instance, base, fields: written, over: nil)
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

  /// The names of the fields that an update writes.
  var names: Set<String> { Set(dict.keys).subtracting(estimates) }

  /// Returns the draft of an update of the record `stored`. The fields `names` are left out, because later
  /// writes have written them.
  func over(
    _ stored: DocumentSnapshot, without names: Set<String>, base: ResourceBase,
    instance: any BaseItemProtocol
  ) -> ResourceDraft {
    var rest = self
    if !names.isEmpty {
      rest.dict = dict.filter { !names.contains($0.key) }
      rest.fields = Self.fields(rest.dict, base)
    }
    guard case .success(var written) = rest.fields, !names.isEmpty || written.isComputed else { return rest }
    for name in estimates { written.leaveOut(name) }
    let item = Self.item(instance, base, fields: written, over: stored)
    rest.counted = Self.counted(base, instance, as: item)
    return rest
  }

  // MARK: Counters

  /// Returns the ids of the counters that count the instance. If `other` is not nil, it has the fields that
  /// the record has after the write, and the predicates check it instead of the instance.
  private static func counted(
    _ base: ResourceBase, _ instance: any BaseItemProtocol, as other: (any BaseItemProtocol)?
  ) -> Set<Int> {
    let counting = base.kitCounters.filter { instance.isInstance(of: $0.counted) }
    return Set(counting.filter { $0.counts(other ?? instance) }.map(\.id))
  }

  /// Returns a copy of the instance with the fields that the record has after the write; nil if no predicate
  /// needs the copy.
  private static func item(
    _ instance: any BaseItemProtocol, _ base: ResourceBase, fields: EncodedFields,
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

// How fields that are a value or a change of one are compared.
//
// Such fields are `RawRepresentable`, as in the original, and that protocol brings an equality and hashes of
// its own that go through `rawValue`, which a change has not. So the fields define all of them by hand,
// through this type.

package enum FieldForm<Change: Hashable, Value: Hashable>: Hashable {
  case change(Change)
  case value(Value)
}

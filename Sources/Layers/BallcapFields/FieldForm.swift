// Comparison and hashing of fields that hold either a value or a change of the stored value.
//
// Such fields are `RawRepresentable`, as in the original library. That protocol provides its own equality and
// hashing, which use `rawValue`, but a change has no `rawValue`. So the fields define equality and hashing
// themselves, through this type.

package enum FieldForm<Change: Hashable, Value: Hashable>: Hashable {
  case change(Change)
  case value(Value)
}

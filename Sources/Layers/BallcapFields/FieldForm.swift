// Comparison and hashing of fields that are a value or a change of it.
//
// Such fields are `RawRepresentable`, as in the original. That protocol brings its own equality and hashing,
// which use `rawValue`, but a change has no `rawValue`. So the fields define equality and hashing themselves,
// through this type.

package enum FieldForm<Change: Hashable, Value: Hashable>: Hashable {
  case change(Change)
  case value(Value)
}

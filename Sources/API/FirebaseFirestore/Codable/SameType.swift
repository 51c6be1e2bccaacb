// Casts a value of generic type to the concrete type that it is known to have.

/// Returns `value`, whose type is known to be `Target`. A checked cast would cost more than encoding or
/// decoding a whole field, which takes a few dozen nanoseconds.
@inline(__always)
func same<Source, Target>(_ value: Source, as type: Target.Type = Target.self) -> Target {
  precondition(Source.self == Target.self, "callers compare the types first")
  // This is safe because `Source` and `Target` are the same type, so the copy has the same layout and
  // ownership.
  return unsafe unsafeBitCast(value, to: type)
}

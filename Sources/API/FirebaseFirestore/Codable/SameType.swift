// The one place where a generic value is taken for the concrete type that it has.

/// `value`, whose type has been found to be `Target`. A cast that looks again would cost more than what
/// surrounds it: fields are coded in a few dozen nanoseconds.
@inline(__always)
func same<Source, Target>(_ value: Source, as type: Target.Type = Target.self) -> Target {
  precondition(Source.self == Target.self, "callers compare the types first")
  // Safe because source and target are one type, so that the copy has the same layout and ownership.
  return unsafe unsafeBitCast(value, to: type)
}

// The former name of the access rules.

/// The rules of a loopback remote's authority.
public typealias LoopbackRules = AuthorityRules

// Exports the enumeration `ServerTimestamp` under the name that Ballcap's models use.
//
// `FirebaseFirestore` declares a property wrapper with the same name. If this module declared the enumeration
// itself, a file that imports both modules would have to qualify the name. An import of a single declaration
// shadows a declaration of the same name from a module that is imported as a whole, and a re-export keeps
// that effect. So in a file that imports both modules, the bare name is the enumeration.
// ServerTimestampNameTests guards this compiler behavior.

@_exported public import enum BallcapFields.ServerTimestamp

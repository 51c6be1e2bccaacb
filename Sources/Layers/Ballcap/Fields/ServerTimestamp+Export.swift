// Exports the enumeration `ServerTimestamp` under the name that Ballcap's models use.
//
// `FirebaseFirestore` declares a property wrapper with the same name. If this module declared the enumeration
// itself, a file that imports both modules would have to qualify the name. An import of a single declaration
// shadows the same name from the import of a whole module, and a re-export keeps that effect. So the bare
// name is the enumeration in such a file. ServerTimestampNameTests guards this compiler behavior.

@_exported public import enum BallcapFields.ServerTimestamp
